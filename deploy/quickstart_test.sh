#!/usr/bin/env bash
# Tests how deploy/quickstart.sh ends: a program that was not confirmed is named, and no success. And what
# it asks of whet discover for a problem of one's own, with a whet that notes its calls.
set -euo pipefail

DEPLOY_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly DEPLOY_DIR
SCRATCH="$(mktemp -d)"
readonly SCRATCH
trap 'rm -rf "$SCRATCH"' EXIT
FAILED=0

# ends NAME EXIT_CODE TEXT [BENCHMARK_EXIT_CODE...]: a run whose benchmarks end with these codes.
ends() {
  local name="$1" want="$2" text="$3" run="$SCRATCH/$1" out got=0 number=0 code; shift 3
  mkdir -p "$run"
  for code in "$@"; do
    mkdir -p "$run/best/problem$number"
    echo "exit $code" >"$run/best/problem$number/run.sh"
    number=$((number + 1))
  done
  # shellcheck disable=SC2016
  out=$(bash -c 'source "$1/quickstart.sh"; show_best "$2"; conclude "$2"' _ "$DEPLOY_DIR" "$run" 2>&1) ||
    got=$?
  if [[ "$got" != "$want" || "$out" != *"$text"* ]]; then
    printf '%s: exit code %s, wanted %s with "%s":\n%s\n' "$name" "$got" "$want" "$text" "$out"
    FAILED=1
  fi
}

# discovers NAME RECORDED WHET_CODE TEXT: discover_problem, where runs/quickstart was made of RECORDED (same: of this
# problem) and whet ends so.
discovers() {
  local name="$1" recorded="$2" want="$3" text="$4" root="$SCRATCH/$1" out got=0
  mkdir -p "$root/build/release/bin" "$root/runs/quickstart" "$root/prompts"
  cp -r "$DEPLOY_DIR" "$root/deploy"
  echo "int f();" >"$root/p.cc"
  touch "$root/prompts/warmup.jsonl"
  # shellcheck disable=SC2016
  printf '#!/bin/bash\necho "$*" >>"%s/calls"\nexit %s\n' "$root" "$want" >"$root/build/release/bin/whet"
  chmod +x "$root/build/release/bin/whet"
  # shellcheck disable=SC2016
  out=$(bash -c 'source "$1/deploy/quickstart.sh"; parse_options --problem "$1/p.cc" --seed 5 --answer a=1
    if [[ "$2" == same ]]; then run_identity >"$STATE"; else echo "$2" >"$STATE"; fi
    discover_problem' _ "$root" "$recorded" 2>&1) || got=$?
  out+=$'\n'"$(<"$root/calls")"
  if [[ "$got" != "$want" || "$out" != *"$text"* ]]; then
    printf '%s: exit code %s, wanted %s with "%s":\n%s\n' "$name" "$got" "$want" "$text" "$out"
    FAILED=1
  fi
}

discovers asked other 0 'p.cc --out '
discovers options other 0 '--set seed=5'
discovers answers other 0 '--answer a=1 --set model='
discovers moved other 0 'the run that was there is now runs/quickstart.1'
discovers refuted same 2 'discover '
discovers stopped same 130 'discover '
[[ ! -e "$SCRATCH/stopped/runs/quickstart.1" ]] || { echo "a search that goes on was moved aside"; FAILED=1; }
if bash "$DEPLOY_DIR/quickstart.sh" --ssh --problem "$0" >"$SCRATCH/ssh_too" 2>&1 ||
  ! grep -q -- "--ssh is for the quickstart's own campaign" "$SCRATCH/ssh_too"; then
  echo "--ssh with --problem:"
  cat "$SCRATCH/ssh_too"
  FAILED=1
fi

ends confirmed 0 'confirmed: every program is right and as fast as recorded' 0 0
ends slower 4 'NOT CONFIRMED: best/problem1: right, but more than a tenth slower than recorded' 0 1
ends both 4 'NOT CONFIRMED: best/problem0 best/problem1: right' 1 1
ends wrong 1 'computes wrong outputs here' 3
ends broken 1 'failed with exit code 127' 127
ends unbuilt 1 'failed with exit code 2' 2
ends nothing 0 'nothing to confirm: no program was faster than its reference'
exit "$FAILED"
