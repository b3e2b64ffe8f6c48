#!/usr/bin/env bash
# Tests how deploy/quickstart.sh ends: a program that was not confirmed is named, and no success. And what
# it does before a campaign on a problem of one's own, with a whet that notes its calls.
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

# searches NAME DRY_RUN_CODE SEARCH_CODE WANT_CODE TEXT: find_rewrites, where whet ends so.
searches() {
  local name="$1" want="$4" text="$5" root="$SCRATCH/$1" out got=0
  mkdir -p "$root/build/release/bin" "$root/runs"
  cp -r "$DEPLOY_DIR" "$root/deploy"
  # shellcheck disable=SC2016
  printf '#!/bin/bash\necho "$*" >>"%s/calls"\n[[ $1 == run ]] && exit %s\nexit %s\n' "$root" "$2" "$3" \
    >"$root/build/release/bin/whet"
  chmod +x "$root/build/release/bin/whet"
  # shellcheck disable=SC2016
  out=$(bash -c 'source "$1/deploy/quickstart.sh"; PROBLEM=p.md; find_rewrites --set a=b; echo went on' _ \
    "$root" 2>&1) || got=$?
  out+=$'\n'"$(<"$root/calls")"
  if [[ "$got" != "$want" || "$out" != *"$text"* ]]; then
    printf '%s: exit code %s, wanted %s with "%s":\n%s\n' "$name" "$got" "$want" "$text" "$out"
    FAILED=1
  fi
}

searches found 0 0 0 'went on'
searches called 0 0 0 'rewrite p.md --out '
searches checked 0 0 0 'quickstart.yaml --dry-run --set a=b'
searches broken_search 0 3 0 'rewrites: failed'
searches wrong_problem 0 2 2 'rewrite p.md'
searches stopped 0 130 130 'rewrite p.md'
searches wrong_option 2 0 2 'dry-run'

ends confirmed 0 'confirmed: every program is right and as fast as recorded' 0 0
ends slower 4 'NOT CONFIRMED: best/problem1: right, but more than a tenth slower or faster than recorded' 0 1
ends both 4 'NOT CONFIRMED: best/problem0 best/problem1: right' 1 1
ends wrong 1 'computes wrong outputs here' 3
ends broken 1 'failed with exit code 127' 127
ends unbuilt 1 'failed with exit code 2' 2
mkdir -p "$SCRATCH/by_rules/rules/mine"
echo "exit 1" >"$SCRATCH/by_rules/rules/mine/run.sh"
ends by_rules 4 'NOT CONFIRMED: rules/mine: right' 0
ends nothing 0 'nothing to confirm: no program was faster than its reference'
exit "$FAILED"
