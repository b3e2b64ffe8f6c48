#!/usr/bin/env bash
# From a fresh Debian 12 machine to a trained model, in one command:
#
#   deploy/quickstart.sh                  set up, build, run the campaign of deploy/quickstart.yaml
#   deploy/quickstart.sh --ssh            the same through a private SSH server on loopback
#   deploy/quickstart.sh --seed 5         another seed
#   deploy/quickstart.sh --problem FILE   a C++ source or prompt file of your own: whet discover, a quarter
#                                         of an hour from its check on; --answer, --function, --generator,
#                                         --budget and --yes are those of whet discover (a prompt file needs no --yes)
#   deploy/quickstart.sh --set KEY=VALUE  any other key of the campaign; may be repeated
#   deploy/quickstart.sh --fresh          train again even if this campaign is finished
#
# Results are in runs/quickstart. Run again, it skips what is done: a finished campaign is shown
# again, an interrupted one goes on, and where the options, the problem or the campaign file have
# changed, the old directory is kept as runs/quickstart.1 (2, 3 …) and a new run begins. The last line
# says whether the best programs were confirmed; the exit code is 4 where one was not. With --problem both
# are those of whet discover.

# shellcheck source=deploy/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

readonly CAMPAIGN="$DEPLOY/quickstart.yaml"
readonly DISCOVER="$DEPLOY/discover.yaml"
readonly BIN="$WHETSTONE_ROOT/build/release/bin"
readonly RUN="$WHETSTONE_ROOT/runs/quickstart"
readonly STATE="$WHETSTONE_ROOT/runs/.quickstart"  # What RUN was made from; "finished" when done.

SSH=false
FRESH=false
PROBLEM=""
SETS=()
ASKED=()  # Options of whet discover.

parse_options() {
  while (($#)); do
    case "$1" in
      --ssh) SSH=true ;;
      --fresh) FRESH=true ;;
      --seed) SETS+=(--set "seed=${2:?--seed needs a number}"); shift ;;
      --problem)
        PROBLEM="$(realpath -e "${2:?--problem needs a file}")" || die "no such file: $2"
        shift ;;
      --generator)
        ASKED+=(--generator "$(realpath -e "${2:?--generator needs a file}")") || die "no such file: $2"
        shift ;;
      --answer | --function | --budget) ASKED+=("$1" "${2:?$1 needs a value}"); shift ;;
      --yes) ASKED+=(--yes) ;;
      --set) SETS+=(--set "${2:?--set needs KEY=VALUE}"); shift ;;
      -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$DEPLOY/quickstart.sh"; exit ;;
      *) die "unknown option $1; deploy/quickstart.sh --help lists them" ;;
    esac
    shift
  done
  if $SSH && [[ -n "$PROBLEM" ]]; then
    die "--ssh is for the quickstart's own campaign; --problem works on this machine"
  fi
  if [[ -z "$PROBLEM" ]] && ((${#ASKED[@]})); then
    die "${ASKED[0]} is for a function of your own: name its file with --problem"
  fi
}

# --- A cluster of one machine, reached through SSH ------------------------------------------------

CLUSTER_DIR=""
SERVICES=()

# service NAME COMMAND...: starts it in the background; it dies with this script, but not by Ctrl-C:
# that is for `whet run` alone, which needs its services to stop cleanly.
service() {
  local name="$1"; shift
  setsid setpriv --pdeathsig TERM "$@" </dev/null >"$CLUSTER_DIR/$name.log" 2>&1 &
  SERVICES+=($!)
}

wait_for_socket() {
  local path="$1" tries
  for ((tries = 0; tries < 300; ++tries)); do
    [[ -S "$path" ]] && return
    sleep 0.2
  done
  tail -n 20 "$CLUSTER_DIR"/*.log >&2
  die "no service listens on $path after 60 s"
}

start_cluster() {
  # The same place every time, so that an interrupted campaign finds its sockets again, and a short
  # one: a unix socket's path holds 108 bytes.
  CLUSTER_DIR="$CACHE/cluster-$(sha256sum <<<"$RUN" | cut -c1-8)"
  [[ -d "$CLUSTER_DIR" ]] || mkdir -m 700 "$CLUSTER_DIR"
  rm -f "$CLUSTER_DIR"/*.sock  # Left by a run that was killed.
  trap stop_cluster EXIT
  bash "$DEPLOY/private_sshd.sh" start "$CLUSTER_DIR/sshd"
  service trainer "$BIN/whet-trainer" serve --listen "unix:$CLUSTER_DIR/trainer.sock"
  service worker "$BIN/whet-worker" serve --listen "unix:$CLUSTER_DIR/worker.sock"
  wait_for_socket "$CLUSTER_DIR/trainer.sock"
  wait_for_socket "$CLUSTER_DIR/worker.sock"
  say "private sshd, trainer and worker are up; their logs are in $CLUSTER_DIR"
}

stop_cluster() {
  local pid
  for pid in "${SERVICES[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${SERVICES[@]}"; do wait "$pid" 2>/dev/null || true; done
  bash "$DEPLOY/private_sshd.sh" stop "$CLUSTER_DIR/sshd" || true
}

# The hosts' names are made up: the private ssh_config sends every name to the private server.
cluster_settings() {
  echo "cluster={trainer: {ssh: gpu-host, socket: $CLUSTER_DIR/trainer.sock}," \
    "workers: [{ssh: cpu-host, socket: $CLUSTER_DIR/worker.sock}]," \
    "ssh_config: $CLUSTER_DIR/sshd/ssh_config}"
}

# --- The campaign ---------------------------------------------------------------------------------

# One line that changes with whatever would change the run.
run_identity() {
  if [[ -n "$PROBLEM" ]]; then
    { cat "$DISCOVER" "$PROBLEM"; printf '%s\n' discover "${SETS[@]}" "${ASKED[@]}"; } | sha256sum | cut -d' ' -f1
    return
  fi
  { cat "$CAMPAIGN" "$WHETSTONE_ROOT/prompts/matmul_f32.md" "$WHETSTONE_ROOT/prompts/warmup.jsonl" \
    "$DEPLOY/quickstart.sh"; printf '%s\n' "$SSH" "${SETS[@]}"; } | sha256sum | cut -d' ' -f1
}

move_aside() {
  local n=1
  while [[ -e "$RUN.$n" ]]; do n=$((n + 1)); done
  mv "$RUN" "$RUN.$n"
  say "$1: the run that was there is now runs/quickstart.$n"
}

# make_room IDENTITY: a run of other options or another problem is moved aside. Returns 1 where this one is finished.
make_room() {
  local recorded=""
  [[ ! -f "$STATE" ]] || recorded="$(<"$STATE")"
  mkdir -p "$(dirname "$RUN")"
  [[ -e "$RUN" ]] || return 0
  if $FRESH; then
    move_aside "--fresh"
  elif [[ "$recorded" == "$1 finished" ]]; then
    return 1
  elif [[ "$recorded" != "$1" ]]; then
    move_aside "the options, the problem or the campaign differ"
  fi
}

# discover_problem: the same call begins, goes on and shows what was found.
discover_problem() {
  local identity yes=()
  identity="$(run_identity)"
  # A search that has not come to its campaign yet may go on with other settings.
  if $FRESH || [[ -e "$RUN/run" ]] || ! cmp -s "$PROBLEM" "$RUN/given"; then make_room "$identity"; fi
  # Whoever wrote a prompt file has said what is right.
  if [[ "$PROBLEM" == *.md ]]; then yes=(--yes); fi
  echo "$identity" >"$STATE"
  "$BIN/whet" discover "$PROBLEM" --out "$RUN" --campaign "$DISCOVER" "${yes[@]}" "${ASKED[@]}" \
    --set "model=$MODEL_DIR" "${SETS[@]}"
}

run_campaign() {
  local identity
  identity="$(run_identity)"
  if ! make_room "$identity"; then
    say "this campaign is finished; --fresh trains again"
    return
  fi

  local start=$SECONDS code=0
  if $SSH; then start_cluster; fi
  if [[ -f "$RUN/campaign.yaml" ]]; then
    say "going on with the interrupted campaign in runs/quickstart"
    "$BIN/whet" resume "$RUN" || code=$?
  else
    if [[ -e "$RUN/given" ]]; then move_aside "it is a search of whet discover"; fi
    rm -rf "$RUN"
    echo "$identity" >"$STATE"
    local sets=(--set "model=$MODEL_DIR" "${SETS[@]}")  # The user's own have the last word.
    if $SSH; then
      sets+=(--set "$(cluster_settings)" --set "checkpoint.dir=$RUN/checkpoints")
    fi
    "$BIN/whet" run "$CAMPAIGN" --run-dir "$RUN" "${sets[@]}" || code=$?
  fi
  ((code == 0)) || exit "$code"
  echo "$identity finished" >"$STATE"
  say "campaign: done in $((SECONDS - start)) s"
}

# --- What came of it ------------------------------------------------------------------------------

NOT_CONFIRMED=()  # The problems whose program is right, but slower here than recorded.

# show_best RUN: runs the benchmark of each of its fastest programs.
show_best() {
  local program code
  for program in "$1"/best/*/; do
    [[ -d "$program" ]] || continue
    echo
    echo "fastest verified program: $program"
    code=0
    bash "$program/run.sh" || code=$?
    case "$code" in
      0) ;;
      1) NOT_CONFIRMED+=("best/$(basename "$program")") ;;
      3) die "the program in $program computes wrong outputs here" ;;
      *) die "the benchmark in $program failed with exit code $code" ;;
    esac
  done
}

# conclude RUN: the last word, and the exit code: 4 if a program was not confirmed.
conclude() {
  if ((${#NOT_CONFIRMED[@]})); then
    say "NOT CONFIRMED: ${NOT_CONFIRMED[*]}: right, but more than a tenth slower than recorded." \
      "Whatever else this machine does at the moment changes speeds; once more:" \
      "sh '$1/${NOT_CONFIRMED[0]}/run.sh'"
    return 4
  fi
  if compgen -G "$1/best/*/" >/dev/null; then
    say "confirmed: every program is right and as fast as recorded"
  else
    say "nothing to confirm: no program was faster than its reference"
  fi
}

quickstart() {
  parse_options "$@"
  local start=$SECONDS groups=()
  if $SSH; then groups+=(ssh); fi
  set_up "${groups[@]}"
  step "build release" build_preset release whet whet-trainer whet-worker
  if [[ -n "$PROBLEM" ]]; then
    discover_problem
    return
  fi
  run_campaign
  show_best "$RUN"
  echo
  "$BIN/whet" report "$RUN"
  say "all of it took $((SECONDS - start)) s"
  conclude "$RUN"
}

if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  quickstart "$@"
fi
