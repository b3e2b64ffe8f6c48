#!/usr/bin/env bash
# Measures the coordinator on this machine and prints one table; two minutes. Builds the release
# preset; needs OpenSSH's server and client, and a machine that does nothing else:
#
#   benchmarks/coordinator.sh

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"

if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit
fi
set_up ssh
step "build release" build_preset release campaign_bench tunnel_bench whet-worker
exec "$VENV/bin/python" "$WHETSTONE_ROOT/benchmarks/coordinator.py" "$WHETSTONE_ROOT/build/release/bin"
