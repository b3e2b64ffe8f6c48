#!/usr/bin/env bash
# Measures the sandbox and the screen on this machine, beside bubblewrap and isolate, and prints one
# table; three minutes. Needs the release build and a machine that does nothing else:
#
#   benchmarks/sandbox.sh
#
# isolate is built from its source the first time, into ${WHETSTONE_CACHE:-~/.cache/whetstone}/isolate
# (as root: it is a set-uid program elsewhere); without it its row is left out. WHETSTONE_ISOLATE
# names another one.

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"

readonly ISOLATE="$CACHE/isolate"

install_isolate() {
  [[ -x "$ISOLATE/isolate" ]] && return 10
  rm -rf "$ISOLATE" && mkdir -p "$ISOLATE"
  retry 3 git clone -q --depth 1 --branch v2.6 https://github.com/ioi/isolate "$ISOLATE/source" \
    </dev/null || return
  printf '%s\n' "box_root = $ISOLATE/boxes" "lock_root = $ISOLATE/locks" "cg_root = /none" \
    "first_uid = 60000" "first_gid = 60000" "num_boxes = 10" >"$ISOLATE/isolate.cf"
  mkdir -p "$ISOLATE/boxes" "$ISOLATE/locks"
  make -C "$ISOLATE/source" -s isolate CONFIG="$ISOLATE/isolate.cf" &&
    mv "$ISOLATE/source/isolate" "$ISOLATE/isolate"
}

if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit
fi
set_up tests
if [[ -z "${WHETSTONE_ISOLATE:-}" && $EUID == 0 ]]; then
  (step "isolate" install_isolate) || say "isolate could not be built; its row is left out"
  [[ ! -x "$ISOLATE/isolate" ]] || WHETSTONE_ISOLATE="$ISOLATE/isolate"
fi
step "build release" build_preset release
export WHETSTONE_ISOLATE="${WHETSTONE_ISOLATE:-}"
exec "$VENV/bin/python" "$WHETSTONE_ROOT/benchmarks/sandbox.py" "$WHETSTONE_ROOT/build/release/bin"
