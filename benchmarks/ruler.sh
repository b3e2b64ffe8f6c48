#!/usr/bin/env bash
# Measures the ruler on this machine and prints one table: how long verdicts take, candidates a second
# beside a plain pipeline, how far apart equal code measures, whether a result repeats and lies in its
# interval, the error rates of the stopping rule, the worker's memory. Some twenty minutes; needs the
# release build and a machine that does nothing else:
#
#   benchmarks/ruler.sh                                all parts
#   benchmarks/ruler.sh latency rate band              some of: latency rate band repeat replay memory same
#   benchmarks/ruler.sh memory --candidates 100000     longer

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"

if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit
fi
set_up tests
step "build release" build_preset release
exec "$WHETSTONE_ROOT/build/release/bin/ruler_bench" --source-dir "$WHETSTONE_ROOT" "$@"
