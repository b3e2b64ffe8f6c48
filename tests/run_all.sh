#!/usr/bin/env bash
# Sets the machine up, builds everything and runs every test:
#
#   tests/run_all.sh          all suites; unit tests under the sanitizers as well; a minute of
#                             libFuzzer; formatting; clang-tidy over what changed last; right and
#                             wrong of every problem; what runs on GPUs is built with nvcc
#   tests/run_all.sh --full   also clang-tidy over every source; the trainer as a release has it,
#                             for GPUs; every problem's soundness with its speeds; what hostile
#                             code tries ten times over, with an honest candidate between any two
#                             attacks; 10,000 candidates in a row; 10,000 simulated campaigns; the
#                             shell of campaigns under the thread sanitizer; 30 minutes of the
#                             small real model, in which everything fails again and again
#
# Prints the seconds of every suite and ends with the line "N passed, N failed, N skipped"; the exit
# code is 0 only if nothing failed. What was skipped, for want of a GPU, say, is listed with its
# reason before that line. Logs and reports go to build/test-logs/. Needs no terminal and no input,
# and every suite has a time limit.
set -euo pipefail
exec </dev/null

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"
cd "$WHETSTONE_ROOT"

readonly LOGS="$WHETSTONE_ROOT/build/test-logs"
readonly SUITE_LIMIT_S=2400
readonly TIDY_LIMIT_S=50
# The flags are GCC's; clang knows not all of them.
readonly TIDY_OPTIONS=(--quiet -p build/tidy --extra-arg=-Wno-unknown-warning-option)
# The thread sanitizer of GCC 12 refuses address space layouts that newer kernels choose.
FIXED_ADDRESSES=()
! setarch "$(uname -m)" -R true 2>/dev/null || FIXED_ADDRESSES=(setarch "$(uname -m)" -R)
PASSED=0
FAILED=0
SKIPPED=0

# add_result NAME PASSED FAILED SKIPPED SECONDS
add_result() {
  PASSED=$((PASSED + $2))
  FAILED=$((FAILED + $3))
  SKIPPED=$((SKIPPED + $4))
  say "$(printf '%-24s %5d passed %3d failed %3d skipped %6d s' "$1" "$2" "$3" "$4" "$5")"
}

# check NAME COMMAND...: one case that passes when the command does, but for one whose log says that
# GoogleTest skipped something.
check() {
  local name="$1" start=$SECONDS; shift
  if ! "$@" >"$LOGS/$name.log" 2>&1; then
    echo "$name: exit code not 0, see $LOGS/$name.log" >>"$LOGS/failures.txt"
    tail -n 20 "$LOGS/$name.log"
    add_result "$name" 0 1 0 $((SECONDS - start))
  elif grep -q '\[  SKIPPED \]' "$LOGS/$name.log"; then
    printf 'some of it, see %s\t%s\n' "$LOGS/$name.log" "$name" >>"$LOGS/skipped.txt"
    add_result "$name" 0 0 1 $((SECONDS - start))
  else
    add_result "$name" 1 0 0 $((SECONDS - start))
  fi
}

# suite PRESET LABEL: runs the CTest tests of one label and counts their cases.
suite() {
  local preset="$1" label="$2" start=$SECONDS name="$1-$2" counts
  local wrapper=()
  [[ "$preset" != tsan ]] || wrapper=("${FIXED_ADDRESSES[@]}")
  # Unit tests hardly ever want more than one core, and must not fail beside others; of system tests
  # those of tunnels (tests/system/CMakeLists.txt).
  local jobs=1
  [[ "$label" != unit && "$label" != system ]] || jobs=2
  rm -rf "build/$preset/test-results" "$LOGS/$name.xml"
  "${wrapper[@]}" timeout --kill-after=30 "$SUITE_LIMIT_S" \
    ctest --test-dir "build/$preset" -L "^$label\$" -j "$jobs" --output-on-failure \
    --output-junit "$LOGS/$name.xml" >"$LOGS/$name.log" 2>&1 || true
  if counts=$(python3 tests/count_results.py "$LOGS/$name.xml" "build/$preset/test-results" \
      "$LOGS/failures.txt" "$LOGS/skipped.txt"); then
    local passed failed skipped
    read -r passed failed skipped <<<"$counts"
    ((passed + failed + skipped > 0)) || failed=1
    ((failed == 0)) || grep -hE '^\[  FAILED  \]|Failure$|Timeout|Exception' "$LOGS/$name.log" | head -n 40 || true
    add_result "$name" "$passed" "$failed" "$skipped" $((SECONDS - start))
  else
    echo "$name: ctest did not finish within $SUITE_LIMIT_S s" >>"$LOGS/failures.txt"
    grep -E '^ *[0-9]+/[0-9]+ Test' "$LOGS/$name.log" || true
    add_result "$name" 0 1 0 $((SECONDS - start))
  fi
}

# One line for each reason that cases were skipped for: how many, the reason, and one of their names.
list_skipped() {
  sort "$LOGS/skipped.txt" | awk -F '\t' '
    $1 != reason { if (n) printf "  %3d: %s (%s)\n", n, reason, name; reason = $1; name = $2; n = 0 }
    { ++n }
    END { if (n) printf "  %3d: %s (%s)\n", n, reason, name }'
}

labels_of() { ctest --test-dir "build/$1" --print-labels | awk '/^  / {print $1}'; }
tests_of() { ctest --test-dir "build/$1" -N -L "^$2\$" | awk '/ Test +#/ {print $NF}'; }

# timed_build PRESET [TARGET...]: a build that fails is a failed case, and says what the compiler said.
timed_build() {
  local start=$SECONDS preset="$1"
  if (build_preset "$@"); then
    add_result "build $preset" 1 0 0 $((SECONDS - start))
  else
    echo "build $preset failed" >>"$LOGS/failures.txt"
    add_result "build $preset" 0 1 0 $((SECONDS - start))
    return 1
  fi
}

# The shell (loop, calls' threads, connections, local services, workers' control) under the thread sanitizer. gRPC itself is
# not instrumented: what it does inside is not looked at.
check_shell_threads() {
  build_preset tsan-shell coordinator_loop_test coordinator_services_test || return
  TSAN_OPTIONS="ignore_noninstrumented_modules=1:suppressions=$WHETSTONE_ROOT/tests/tsan_suppressions.txt" \
    "${FIXED_ADDRESSES[@]}" ctest --test-dir build/tsan-shell -R '^coordinator_(loop|services)_test$' --output-on-failure
}

check_format() { git ls-files '*.cc' '*.h' '*.cu' | xargs clang-format-16 --dry-run -Werror; }

# build/tidy: every source as a unit of its own, as clang-tidy sees it.
configure_tidy() {
  cmake --preset dev -B build/tidy -DWHETSTONE_VENV="$VENV" -DWHETSTONE_UNITY=OFF &&
    cmake --build build/tidy --target whetstone_proto_sources
}

# Hostile programs are compiled by the worker, with what their headers name put before them.
readonly OUR_SOURCES=('*.cc' ':!tests/abuse/programs')

check_tidy() {
  configure_tidy &&
    git ls-files "${OUR_SOURCES[@]}" | xargs -P "$(build_jobs)" -n 4 clang-tidy-16 "${TIDY_OPTIONS[@]}"
}

# The sources that changed since this branch left origin/main, or, where it is origin/main itself (a
# clean clone), in the last ten commits that changed any: what changed last comes first.
changed_sources() {
  local base commits
  base=$(git merge-base HEAD origin/main 2>/dev/null) || base=$(git rev-parse HEAD)
  commits=("$base..HEAD")
  [[ "$base" != "$(git rev-parse HEAD)" ]] || commits=(-n 10)
  { git diff --name-only HEAD -- "${OUR_SOURCES[@]}" &&
    git log --format= --name-only "${commits[@]}" -- "${OUR_SOURCES[@]}"; } |
    awk '!seen[$0]++' | while read -r file; do [[ ! -e "$file" ]] || echo "$file"; done
}

# clang-tidy over those, as many as TIDY_LIMIT_S allows; the last line says how many that were.
check_changed_tidy() {
  local failed=0 files checked
  configure_tidy || return 1
  changed_sources >"$LOGS/changed.txt" || return 1
  : >"$LOGS/tidied.txt"
  # shellcheck disable=SC2016
  END=$(($(date +%s) + TIDY_LIMIT_S)) CHECKED="$LOGS/tidied.txt" \
    xargs -P "$(build_jobs)" -I FILE bash -c '
      (($(date +%s) < END)) || exit 0
      echo "$1" >>"$CHECKED"
      shift && clang-tidy-16 "$@"' _ FILE "${TIDY_OPTIONS[@]}" FILE <"$LOGS/changed.txt" || failed=1
  files=$(wc -l <"$LOGS/changed.txt")
  checked=$(wc -l <"$LOGS/tidied.txt")
  echo "clang-tidy checked $checked of $files changed sources, $((files - checked)) are left to --full"
  return "$failed"
}

# check_problems NAME [--quick]: every problem is sound, but for those that need more cores than
# there are.
check_problems() {
  local name="$1"; shift
  # The exit code tells of both; the object at the end tells them apart.
  { build/dev/bin/whet problem check prompts prompts/valid prompts/test --json "$@" || true; } | tail -n 1 |
    tee "$LOGS/$name.json" | grep -q '"unsound":0'
}

# sanitized PRESET LABEL...: builds the tests of the labels that preset knows and runs them.
sanitized() {
  local preset="$1" label targets; shift
  mkdir -p "build/$preset"
  (cmake --preset "$preset" -DWHETSTONE_VENV="$VENV") >"$LOGS/configure-$preset.log" 2>&1 || true
  mapfile -t targets < <(for label in "$@"; do tests_of "$preset" "$label"; done)
  timed_build "$preset" "${targets[@]}" || return 0
  for label in "$@"; do suite "$preset" "$label"; done
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
  check clang-tidy-changed check_changed_tidy
  say "$(tail -n 1 "$LOGS/clang-tidy-changed.log")"
  if timed_build dev; then
    for label in $(labels_of dev); do suite dev "$label"; done
    check problems-quick check_problems problems-quick --quick
    if $full; then
      check clang-tidy check_tidy
      timed_build cuda whet-trainer || true
      check problems check_problems problems
      check hostile-ten-times env WHETSTONE_ABUSE_FULL=1 ctest --test-dir build/dev \
        -R '^(abuse|sandbox)_test$' --repeat until-fail:10 -V
      check chaos-real-model env WHETSTONE_CHAOS_MINUTES=30 ctest --test-dir build/dev \
        -R '^system_chaos_test$' -V
      check shell-threads check_shell_threads
      check simulation-10000 env WHETSTONE_SIM_SEEDS=10000 build/dev/bin/coordinator_campaign_test
      check soak-10000 env WHETSTONE_SOAK=10000 ctest --test-dir build/dev -R '^(soak|hostile_caller)_test$' -V
    fi
  fi
  # What tests/gpu/run.sh takes to a GPU, and the trainer; no GPU is needed to build them.
  timed_build dev-cuda whet-trainer cuda_kernels_test trainer_engine_test trainer_learner_test \
    trainer_optim_test trainer_pass_test decode_bench grpo_step_bench gpu_system_test || true
  sanitized asan unit fuzz
  sanitized tsan unit

  if ((FAILED)); then
    say "failed:"
    cat "$LOGS/failures.txt"
  fi
  if ((SKIPPED)); then
    say "skipped, by reason:"
    list_skipped
  fi
  say "logs in $LOGS; all of it took $((SECONDS - start)) s"
  echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
  ((FAILED == 0))
}

main "$@"
