#!/usr/bin/env bash
# Runs all tests that need a GPU and all benchmarks on one, and prints their figures as one table:
#
#   tests/gpu/run.sh                 in a clone, on a machine with a GPU: sets up and builds first
#   tests/gpu/run.sh --bundle DIR    in a clone, on any machine: builds, and makes the folder DIR
#   DIR/run.sh                       on a GPU host that has the Python package torch 2.11 (LibTorch
#                                    and CUDA) and nothing else of this
#
# --quick leaves out all but the tests and one decoding figure. Models are made here with random
# weights, which needs the package transformers; without TRL its figures are missing. Logs go to
# gpu-logs/ in the current folder. The exit code is 0 only if every test passed; a machine without a
# GPU is told so at once (exit code 2).
set -euo pipefail

HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly HERE
readonly TESTS=(cuda_kernels_test trainer_engine_test trainer_learner_test trainer_optim_test trainer_pass_test)
readonly BENCHMARKS=(decode_bench grpo_step_bench)

fail() { printf 'tests/gpu/run.sh: %s\n' "$*" >&2; exit 2; }

# Where LibTorch lies: python3's torch, unless PYTHON names another interpreter.
torch_folder() {
  "${PYTHON:-python3}" - <<'PYTHON'
import os, sys
try:
    import torch
except ImportError:
    sys.exit("tests/gpu/run.sh: this Python has no torch; set PYTHON to one that has version 2.11")
if not torch.__version__.startswith("2.11."):
    sys.exit(f"tests/gpu/run.sh: torch is {torch.__version__}; these programs were built for 2.11")
if not torch.cuda.is_available():
    sys.exit("tests/gpu/run.sh: torch sees no usable GPU")
print(os.path.dirname(torch.__file__))
PYTHON
}

# bundle BIN DIR: programs, the libraries they need that neither LibTorch nor the C library brings,
# scripts and a tokenizer.
bundle() {
  local bin="$1" to="$2" program library
  mkdir -p "$to/bin" "$to/lib" "$to/peers" "$to/tokenizer"
  for program in "${TESTS[@]}" "${BENCHMARKS[@]}"; do
    cp "$bin/$program" "$to/bin/" && strip "$to/bin/$program"
    ldd "$bin/$program" | awk '$3 ~ "^/(usr/)?lib/" &&
        $3 !~ "/(libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc[+][+])[.]so" {print $3}' |
      while read -r library; do cp -Lu "$library" "$to/lib/"; done
  done
  cp "$HERE/run.sh" "$HERE/gpu_table.py" "$WHETSTONE_ROOT/benchmarks/table.py" "$to/"
  cp "$WHETSTONE_ROOT"/benchmarks/peers/{make_random_model,trl_grpo}.py "$to/peers/"
  cp "$MODEL_DIR"/{tokenizer.json,tokenizer_config.json,config.json} "$to/tokenizer/"
  if [[ -e "$MODEL_DIR/generation_config.json" ]]; then
    cp "$MODEL_DIR/generation_config.json" "$to/tokenizer/"
  fi
  du -sh "$to"
}

main() {
  local quick="" bundle_to=""
  while (($#)); do
    case "$1" in
      --quick) quick=--quick ;;
      --bundle) bundle_to="${2:?--bundle needs a folder}"; shift ;;
      -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; return ;;
      *) fail "unknown option $1; --help lists them" ;;
    esac
    shift
  done
  local bin="$HERE/bin" peers="$HERE/peers" tokenizer="$HERE/tokenizer" table="$HERE/gpu_table.py"
  if [[ -z "$bundle_to" ]]; then
    [[ -e /dev/nvidia0 || -e /dev/nvidiactl || -e /dev/dxg ]] || fail "this machine has no GPU (no \
/dev/nvidia0): GPU tests and benchmarks can not run here. tests/gpu/run.sh --bundle DIR makes a \
folder to carry to a machine that has one"
  fi
  if [[ ! -d "$bin" ]]; then
    # In a clone.
    # shellcheck source=deploy/setup.sh
    source "$HERE/../../deploy/setup.sh"
    set_up tests cuda
    step "build cuda" build_preset cuda "${TESTS[@]}" "${BENCHMARKS[@]}"
    bin="$WHETSTONE_ROOT/build/cuda/bin"
    peers="$WHETSTONE_ROOT/benchmarks/peers"
    tokenizer="$MODEL_DIR"
    PYTHON="${PYTHON:-$VENV/bin/python}"
    [[ ! -x "$CACHE/peers/bin/python" ]] || PYTHON="$CACHE/peers/bin/python"
  fi
  if [[ -n "$bundle_to" ]]; then
    bundle "$bin" "$bundle_to"
    return
  fi

  local torch logs="$PWD/gpu-logs" failed=0 name
  torch="$(torch_folder)" || exit 2
  mkdir -p "$logs"
  # The CUDA libraries of the wheels, which LibTorch itself finds by its own path.
  export LD_LIBRARY_PATH
  LD_LIBRARY_PATH="$HERE/lib:$torch/lib:$(printf '%s:' "$torch"/../nvidia/*/lib)${LD_LIBRARY_PATH:-}"
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null || true
  for name in "${TESTS[@]}"; do
    # The whole of every test: what only a GPU runs is in them beside what runs everywhere.
    if timeout 600 "$bin/$name" --gtest_brief=1 >"$logs/$name.log" 2>&1; then
      echo "$name: passed"
    else
      echo "$name: FAILED, see $logs/$name.log"
      tail -n 20 "$logs/$name.log"
      failed=1
    fi
  done
  PYTHONPATH="$HERE:$HERE/../../benchmarks:${PYTHONPATH:-}" "${PYTHON:-python3}" "$table" \
    --bin "$bin" --peers "$peers" --tokenizer "$tokenizer" --logs "$logs" $quick || failed=1
  return $failed
}

main "$@"
