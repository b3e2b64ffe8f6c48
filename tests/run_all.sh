#!/usr/bin/env bash
# Sets the machine up, builds everything and runs every test:
#
#   tests/run_all.sh          all suites; unit tests under the sanitizers as well; a minute of
#                             libFuzzer; formatting; what runs on GPUs is built with nvcc
#   tests/run_all.sh --full   also clang-tidy over every source, every problem's soundness, and what
#                             hostile code tries ten times over, with an honest candidate between
#                             any two attacks; 10,000 candidates in a row; 10,000 simulated
#                             campaigns; a campaign of the small real model in which everything
#                             fails three times
#
# Prints the seconds of every suite and ends with the line "N passed, N failed"; the exit code is 0
# only if nothing failed. Logs and reports go to build/test-logs/. Needs no terminal and no input,
# and every suite has a time limit.
set -euo pipefail
exec </dev/null

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"
cd "$WHETSTONE_ROOT"

readonly LOGS="$WHETSTONE_ROOT/build/test-logs"
readonly SUITE_LIMIT_S=1200
PASSED=0
FAILED=0

# add_result NAME PASSED FAILED SECONDS
add_result() {
  PASSED=$((PASSED + $2))
  FAILED=$((FAILED + $3))
  say "$(printf '%-24s %5d passed %3d failed %6d s' "$1" "$2" "$3" "$4")"
}

# check NAME COMMAND...: one case that passes when the command does.
check() {
  local name="$1" start=$SECONDS; shift
  if "$@" >"$LOGS/$name.log" 2>&1; then
    add_result "$name" 1 0 $((SECONDS - start))
  else
    echo "$name: exit code not 0, see $LOGS/$name.log" >>"$LOGS/failures.txt"
    tail -n 20 "$LOGS/$name.log"
    add_result "$name" 0 1 $((SECONDS - start))
  fi
}

# suite PRESET LABEL: runs the CTest tests of one label and counts their cases.
suite() {
  local preset="$1" label="$2" start=$SECONDS name="$1-$2" counts
  local wrapper=()
  # The thread sanitizer of GCC 12 refuses address space layouts that newer kernels choose.
  if [[ "$preset" == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    wrapper=(setarch "$(uname -m)" -R)
  fi
  rm -rf "build/$preset/test-results" "$LOGS/$name.xml"
  "${wrapper[@]}" timeout --kill-after=30 "$SUITE_LIMIT_S" \
    ctest --test-dir "build/$preset" -L "^$label\$" --output-on-failure \
    --output-junit "$LOGS/$name.xml" >"$LOGS/$name.log" 2>&1 || true
  if counts=$(python3 tests/count_results.py "$LOGS/$name.xml" "build/$preset/test-results" \
      "$LOGS/failures.txt"); then
    local passed failed
    read -r passed failed <<<"$counts"
    ((passed + failed > 0)) || failed=1
    ((failed == 0)) || grep -hE '^\[  FAILED  \]|Failure$|Timeout|Exception' "$LOGS/$name.log" | head -n 40 || true
    add_result "$name" "$passed" "$failed" $((SECONDS - start))
  else
    echo "$name: ctest did not finish within $SUITE_LIMIT_S s" >>"$LOGS/failures.txt"
    add_result "$name" 0 1 $((SECONDS - start))
  fi
}

labels_of() { ctest --test-dir "build/$1" --print-labels | awk '/^  / {print $1}'; }
tests_of() { ctest --test-dir "build/$1" -N -L "^$2\$" | awk '/ Test +#/ {print $NF}'; }

# timed_build PRESET [TARGET...]: a build that fails is a failed case, and says what the compiler said.
timed_build() {
  local start=$SECONDS preset="$1"
  if (build_preset "$@"); then
    add_result "build $preset" 1 0 $((SECONDS - start))
  else
    echo "build $preset failed" >>"$LOGS/failures.txt"
    add_result "build $preset" 0 1 $((SECONDS - start))
    return 1
  fi
}

check_format() { git ls-files '*.cc' '*.h' '*.cu' | xargs clang-format-16 --dry-run -Werror; }

# Every source as a unit of its own, as clang-tidy sees it.
check_tidy() {
  cmake --preset dev -B build/tidy -DWHETSTONE_VENV="$VENV" -DWHETSTONE_UNITY=OFF &&
    cmake --build build/tidy --target whetstone_proto &&
    git ls-files '*.cc' | xargs -P "$(build_jobs)" -n 4 clang-tidy-16 --quiet -p build/tidy
}

# Every problem is sound, but for those that need more cores than there are.
check_problems() {
  # The exit code tells of both; the object at the end tells them apart.
  { build/dev/bin/whet problem check prompts --json || true; } | tail -n 1 |
    tee "$LOGS/problems.json" | grep -q '"unsound":0'
}

# sanitized PRESET LABEL: builds the tests of a label that preset knows and runs them.
sanitized() {
  local preset="$1" label="$2" targets
  mkdir -p "build/$preset"
  (cmake --preset "$preset" -DWHETSTONE_VENV="$VENV") >"$LOGS/configure-$preset.log" 2>&1 || true
  mapfile -t targets < <(tests_of "$preset" "$label")
  if timed_build "$preset" "${targets[@]}"; then suite "$preset" "$label"; fi
}

main() {
  local full=false label start=$SECONDS
  case "${1:-}" in
    "") ;;
    --full) full=true ;;
    *) die "unknown option $1; tests/run_all.sh knows --full" ;;
  esac
  rm -rf "$LOGS" && mkdir -p "$LOGS"
  set_up ssh tests
  check format check_format
  if timed_build dev; then
    for label in $(labels_of dev); do suite dev "$label"; done
    if $full; then
      check clang-tidy check_tidy
      check problems check_problems
      check hostile-ten-times env WHETSTONE_ABUSE_FULL=1 ctest --test-dir build/dev \
        -R '^(abuse|sandbox)_test$' --repeat until-fail:10 --output-on-failure
      check chaos-real-model env WHETSTONE_CHAOS_ROUNDS=3 ctest --test-dir build/dev \
        -R '^system_chaos_test$' -V
      check simulation-10000 env WHETSTONE_SIM_SEEDS=10000 build/dev/bin/coordinator_campaign_test
      check soak-10000 env WHETSTONE_SOAK=10000 ctest --test-dir build/dev -R '^soak_test$' -V
    fi
  fi
  # What tests/gpu/run.sh takes to a GPU, and the trainer; no GPU is needed to build them.
  timed_build cuda whet-trainer cuda_kernels_test trainer_engine_test trainer_learner_test \
    trainer_optim_test trainer_pass_test decode_bench grpo_step_bench gpu_system_test || true
  sanitized asan unit
  sanitized tsan unit
  sanitized fuzz fuzz

  if ((FAILED)); then
    say "failed:"
    cat "$LOGS/failures.txt"
  fi
  say "logs in $LOGS; all of it took $((SECONDS - start)) s"
  echo "$PASSED passed, $FAILED failed"
  ((FAILED == 0))
}

main "$@"
