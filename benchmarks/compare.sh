#!/usr/bin/env bash
# Measures the trainer beside its peers on this machine and prints one table:
#
#   benchmarks/compare.sh                 everything; 30 to 40 minutes on two cores
#   benchmarks/compare.sh step warmup     some parts: step, step-0.5b, decode, decode-0.5b, warmup
#
# Every ratio is of two figures from this run. Needs the release build (deploy/quickstart.sh) and a
# machine that does nothing else. TRL and what it needs are installed in an environment of their
# own, ${WHETSTONE_CACHE:-~/.cache/whetstone}/peers, beside the tests' LibTorch and transformers.

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"

install_peers() {
  local peers="$CACHE/peers"
  "$peers/bin/python" -c 'import datasets; from trl import GRPOTrainer' 2>/dev/null && return 10
  rm -rf "$peers"
  "$VENV/bin/python" -m venv "$peers" || return
  echo "$VENV/lib/python3.11/site-packages" >"$peers/lib/python3.11/site-packages/tests.pth"
  retry 3 "$peers/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --progress-bar off -r "$WHETSTONE_ROOT/benchmarks/requirements-peers.txt" </dev/null
}

if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit
fi
set_up tests
step "peers" install_peers
step "build release" build_preset release
exec "$CACHE/peers/bin/python" "$WHETSTONE_ROOT/benchmarks/compare.py" \
  --bin "$WHETSTONE_ROOT/build/release/bin" --model "$MODEL_DIR" \
  --random-model "$CACHE/models/random-qwen2.5-0.5b" \
  --examples "$WHETSTONE_ROOT/prompts/warmup.jsonl" "$@"
