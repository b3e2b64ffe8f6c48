#!/usr/bin/env bash
# Runs all tests that need a GPU and all benchmarks on one, and prints their figures as one table:
#
#   tests/gpu/run.sh                 in a clone, on a machine with a GPU: sets up and builds first
#   tests/gpu/run.sh --bundle DIR    in a clone, on any machine: builds, and makes the folder DIR
#   DIR/run.sh                       on a GPU host that has the Python package torch 2.11 (LibTorch
#                                    and CUDA) and nothing else of this; the campaign also needs
#                                    g++ and libclang-cpp16
#   tests/gpu/run.sh --device cpu --bin BIN
#                                    in a clone, without a GPU: what can be tried of this script,
#                                    with the programs in BIN
#
# --only WORDS runs the checks whose name has the words in it; --quick leaves out all benchmarks but
# one decoding figure. Models are made here with random weights, which needs the package
# transformers; without TRL its figures are missing. Logs go to gpu-logs/ in the current folder.
# Every check is printed as passed, FAILED or skipped, with the reason, and the last line counts
# them. The exit code is 0 only if none failed; a machine without a GPU, or with a driver that is too
# old, is told so at once (exit code 2).
set -euo pipefail

HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly HERE
readonly TESTS=(cuda_kernels_test trainer_engine_test trainer_learner_test trainer_optim_test trainer_pass_test)
readonly BENCHMARKS=(decode_bench grpo_step_bench)
readonly CAMPAIGN=(whet whet-worker whet-sandbox whet-kernel whet-screener)
readonly BUNDLED=("${TESTS[@]}" "${BENCHMARKS[@]}" gpu_system_test resave_model whet-trainer
  "${CAMPAIGN[@]}")
LOGS="$PWD/gpu-logs"
ONLY=""
PASSED=0 FAILED=0 SKIPPED=0

fail() { printf 'tests/gpu/run.sh: %s\n' "$*" >&2; exit 2; }

# check NAME SECONDS COMMAND...: runs it, for at most so long.
check() {
  local name="$1" limit_s="$2" start=$SECONDS rc=0; shift 2
  [[ "$name" == *"$ONLY"* ]] || return 0
  local log="$LOGS/${name//[ ,]/-}.log"
  timeout --kill-after=30 "$limit_s" "$@" </dev/null >"$log" 2>&1 || rc=$?
  if ((rc == 0)) && grep -q '\[  SKIPPED \]' "$log"; then
    if [[ "$name" == "kernels are there" ]]; then
      FAILED=$((FAILED + 1))
      echo "$name: FAILED, this build has none that LibTorch's GPU runs, see $log"
    else
      SKIPPED=$((SKIPPED + 1))
      echo "$name: some of it skipped, the rest passed in $((SECONDS - start)) s, see $log"
    fi
    return
  fi
  if ((rc == 0)); then
    PASSED=$((PASSED + 1))
    echo "$name: passed in $((SECONDS - start)) s"
    return
  fi
  FAILED=$((FAILED + 1))
  if ((rc == 124)); then
    echo "$name: FAILED, not done after $limit_s s, see $log"
  else
    echo "$name: FAILED with exit code $rc, see $log"
  fi
  tail -n 20 "$log"
}

# skip NAME WHY
skip() {
  [[ "$1" == *"$ONLY"* ]] || return 0
  SKIPPED=$((SKIPPED + 1))
  echo "$1: skipped: $2"
}

# "FOLDER GPUS": where LibTorch lies (python3's torch, unless PYTHON names another interpreter), and
# how many GPUs it sees.
torch_facts() {
  "${PYTHON:-python3}" - <<'PYTHON'
import os, sys
try:
    import torch
except ImportError:
    sys.exit("tests/gpu/run.sh: this Python has no torch; set PYTHON to one that has version 2.11")
if not torch.__version__.startswith("2.11."):
    sys.exit(f"tests/gpu/run.sh: torch is {torch.__version__}; these programs were built for 2.11")
if not torch.cuda.is_available():
    sys.exit("tests/gpu/run.sh: torch sees no usable GPU; nvidia-smi says what the driver sees")
print(os.path.dirname(torch.__file__), torch.cuda.device_count())
PYTHON
}

# bundle BIN DIR: programs, the libraries they need that LibTorch, the C library and clang do not
# bring, scripts and a tokenizer.
bundle() {
  local bin="$1" to="$2" program library
  mkdir -p "$to/bin" "$to/lib" "$to/peers" "$to/conformance" "$to/tokenizer"
  for program in "${BUNDLED[@]}"; do
    cp "$bin/$program" "$to/bin/" && strip "$to/bin/$program"
    # One that is linked statically needs none.
    { ldd "$bin/$program" 2>/dev/null || true; } | awk '$3 ~ "^/(usr/)?lib/" &&
        $3 !~ "/(libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc[+][+])[.]so" &&
        $3 !~ "/(libclang-cpp|libLLVM|libz3|libxml2|libicu|libedit|libtinfo|libbsd|libmd)" {print $3}' |
      while read -r library; do cp -Lu "$library" "$to/lib/"; done
  done
  cp "$HERE/run.sh" "$HERE/gpu_table.py" "$WHETSTONE_ROOT/benchmarks/table.py" "$DEPLOY/setup.sh" "$to/"
  cp "$WHETSTONE_ROOT"/benchmarks/peers/{make_random_model,trl_grpo}.py "$to/peers/"
  cp "$WHETSTONE_ROOT"/tests/conformance/{fixtures,harness,logits_conformance}.py "$to/conformance/"
  mkdir -p "$to/test-data"
  cp "$WHETSTONE_ROOT/tests/system/multiply.md" "$to/test-data/"
  "$VENV/bin/python" "$WHETSTONE_ROOT/tests/system/make_tiny_model.py" "$MODEL_DIR" \
    "$to/test-data/tiny-llama"
  cp "$MODEL_DIR"/{tokenizer.json,tokenizer_config.json,config.json} "$to/tokenizer/"
  for program in generation_config.json chat_template.jinja; do
    [[ ! -e "$MODEL_DIR/$program" ]] || cp "$MODEL_DIR/$program" "$to/tokenizer/"
  done
  du -sh "$to"
}

# The memory checker of the CUDA toolkit; nothing where there is none.
compute_sanitizer() {
  command -v compute-sanitizer ||
    compgen -G '/usr/local/cuda*/bin/compute-sanitizer' | sort -V | tail -n 1 || true
}

# unit_tests BIN DEVICE: the whole of every test, what only a GPU runs beside what runs everywhere.
unit_tests() {
  local bin="$1" name tool sanitizer
  if [[ "$2" == cpu ]]; then
    skip "unit tests" "without a GPU they are in ctest -L unit"
    skip "compute-sanitizer" "it looks at what a GPU runs"
    return
  fi
  # Without kernels, or without a GPU that they run on, the tests would pass on the emulator alone.
  check "kernels are there" 300 "$bin/cuda_kernels_test" --gtest_brief=1 --gtest_filter='*Gpu*'
  for name in "${TESTS[@]}"; do
    check "$name" 900 "$bin/$name" --gtest_brief=1
  done
  sanitizer="$(compute_sanitizer)"
  for tool in memcheck racecheck; do
    if [[ -n "$sanitizer" ]]; then
      check "compute-sanitizer $tool" 1800 "$sanitizer" --tool "$tool" --error-exitcode 9 \
        "$bin/cuda_kernels_test" --gtest_brief=1 --gtest_filter='*Gpu*'
    else
      skip "compute-sanitizer $tool" "no such program in PATH or /usr/local/cuda*/bin (package \
cuda-sanitizer-13-0 of NVIDIA's repository)"
    fi
  done
}

# system_checks BIN DEVICE GPUS: the trainer as a program.
system_checks() {
  local bin="$1" device="$2" gpus="$3"
  export WHETSTONE_TEST_DEVICE="$device"
  check "serve" 600 "$bin/gpu_system_test" --gtest_filter=ServeTest.OneRank
  if [[ "$device" == cuda ]] && ((gpus < 2)); then
    skip "two ranks" "NCCL needs a GPU for each rank, and here is $gpus"
  else
    check "two ranks" 600 "$bin/gpu_system_test" --gtest_filter=ServeTest.TwoRanks
  fi
  if ! command -v g++ >/dev/null; then
    skip "campaign" "candidates are compiled by g++, which is not here"
  # The worker starts it without an environment.
  elif env -u LD_LIBRARY_PATH ldd "$bin/whet-screener" | grep -q 'not found'; then
    skip "campaign" "whet-screener finds no $(env -u LD_LIBRARY_PATH ldd "$bin/whet-screener" |
      awk '/not found/ {print $1}' |
      paste -sd ' ' -) (package libclang-cpp16)"
  else
    check "campaign" 600 "$bin/gpu_system_test" --gtest_filter=GpuCampaignTest.*
  fi
}

# logprob_checks BIN DEVICE FOLDER: log-probabilities beside those of transformers.
logprob_checks() {
  local name="log-probabilities beside transformers" words=()
  if ! "${PYTHON:-python3}" -c 'import transformers, tokenizers' 2>/dev/null; then
    skip "$name" "${PYTHON:-python3} has no transformers"
    return
  fi
  # On the CPU the whole of it is in ctest -L conformance.
  [[ "$2" == cuda ]] || words+=(--only qwen3_head_norms)
  [[ -e "$WHETSTONE_MODEL/model.safetensors" ]] || words+=(--skip the_real_model)
  check "$name" 1200 "${PYTHON:-python3}" "$3/logits_conformance.py" --bin "$1" --device "$2" \
    "${words[@]}"
}

main() {
  local quick="" bundle_to="" device=cuda bin="$HERE/bin" gpus=0 torch facts problem
  while (($#)); do
    case "$1" in
      --quick) quick=--quick ;;
      --bundle) bundle_to="${2:?--bundle needs a folder}"; shift ;;
      --device) device="${2:?--device needs cuda or cpu}"; shift ;;
      --bin) bin="$(cd "${2:?--bin needs a folder}" && pwd)"; shift ;;
      --only) ONLY="${2:?--only needs words of the name of a check}"; shift ;;
      -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; return ;;
      *) fail "unknown option $1; --help lists them" ;;
    esac
    shift
  done
  # shellcheck source=deploy/setup.sh
  source "$([[ -e "$HERE/setup.sh" ]] && echo "$HERE" || echo "$HERE/../../deploy")/setup.sh"
  if [[ -z "$bundle_to" && "$device" == cuda ]]; then
    [[ -e /dev/nvidia0 || -e /dev/nvidiactl || -e /dev/dxg ]] || fail "this machine has no GPU (no \
/dev/nvidia0): GPU tests and benchmarks can not run here. tests/gpu/run.sh --bundle DIR makes a \
folder to carry to a machine that has one"
    ! problem="$(driver_too_old "$DRIVER_FILE")" || fail "$problem"
  fi
  local peers="$HERE/peers" tokenizer="$HERE/tokenizer" conformance="$HERE/conformance"
  if [[ ! -e "$HERE/setup.sh" ]]; then
    # In a clone.
    if [[ ! -d "$bin" ]]; then
      set_up tests cuda
      step "build cuda" build_preset cuda "${BUNDLED[@]}"
      bin="$WHETSTONE_ROOT/build/cuda/bin"
    fi
    peers="$WHETSTONE_ROOT/benchmarks/peers"
    tokenizer="$MODEL_DIR"
    conformance="$WHETSTONE_ROOT/tests/conformance"
    PYTHON="${PYTHON:-$VENV/bin/python}"
  fi
  if [[ -n "$bundle_to" ]]; then
    bundle "$bin" "$bundle_to"
    return
  fi

  [[ "$device" == cuda || "$device" == cpu ]] || fail "--device is cuda or cpu, not $device"
  mkdir -p "$LOGS"
  export WHETSTONE_MODEL="$tokenizer"
  if [[ "$device" == cuda ]]; then
    facts="$(torch_facts)" || exit 2
    torch="${facts% *}" gpus="${facts##* }"
    # The CUDA libraries of the wheels, which LibTorch itself finds by its own path.
    export LD_LIBRARY_PATH
    LD_LIBRARY_PATH="$HERE/lib:$torch/lib:$(printf '%s:' "$torch"/../nvidia/*/lib)${LD_LIBRARY_PATH:-}"
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null || true
  fi
  unit_tests "$bin" "$device"
  system_checks "$bin" "$device" "$gpus"
  logprob_checks "$bin" "$device" "$conformance"
  if [[ "$device" == cpu ]]; then
    skip "benchmarks" "their bars are a GPU's"
  elif [[ "benchmarks" == *"$ONLY"* ]]; then
    # Those of TRL need an environment of their own.
    [[ ! -x "$CACHE/peers/bin/python" ]] || PYTHON="$CACHE/peers/bin/python"
    # Its table is what one comes for: not into a log.
    if PYTHONPATH="$HERE:$HERE/../../benchmarks:${PYTHONPATH:-}" "${PYTHON:-python3}" \
      "$HERE/gpu_table.py" --bin "$bin" --peers "$peers" --tokenizer "$tokenizer" --logs "$LOGS" $quick
    then
      PASSED=$((PASSED + 1))
      echo "benchmarks: passed, each program ran; figures below their bars are said to be missed"
    else
      FAILED=$((FAILED + 1))
      echo "benchmarks: FAILED, see the rows above"
    fi
  fi
  ((PASSED + FAILED + SKIPPED)) || fail "no check has '$ONLY' in its name"
  echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
  ((FAILED == 0))
}

main "$@"
