#!/bin/bash
# A private sshd on loopback, with keys of its own, for trying a cluster campaign on one machine.
#
#   deploy/private_sshd.sh start DIR [PORT]   # PORT 0 or left out: any free port
#   deploy/private_sshd.sh stop DIR
#
# `start` makes DIR if needed and keeps keys that are there. Afterwards DIR/ssh_config sends every
# host name to this sshd (cluster.ssh_config in a campaign, `ssh -F` by hand), DIR/port holds the
# port. It accepts one user (the caller), one key, forwarding to unix sockets, from this machine
# only; lines in DIR/sshd_config.first go before its own. `stop` ends the server and its connections.
set -euo pipefail

fail() { echo "private_sshd: $*" >&2; exit 1; }

is_ours() {  # the recorded process, not a stranger that got its number
  [[ -n "${1:-}" ]] && grep -qsF -- "$dir/sshd_config" "/proc/$1/cmdline"
}

with_children() {  # PID and everything below it, leaves last
  echo "$1"
  local child
  for child in $(pgrep -P "$1" || true); do with_children "$child"; done
}

stop() {
  local pid
  pid=$(cat "$dir/sshd.pid" 2>/dev/null || true)
  is_ours "$pid" || { rm -f "$dir/sshd.pid"; return 0; }
  local all
  all=$(with_children "$pid")
  kill $all 2>/dev/null || true
  for _ in $(seq 50); do
    is_ours "$pid" || break
    sleep 0.05
  done
  kill -9 $all 2>/dev/null || true
  rm -f "$dir/sshd.pid"
}

# "AllowTcpForwarding no" would make sshd refuse unix sockets as well.
write_config() {
  local port=$1
  cat "$dir/sshd_config.first" 2>/dev/null > "$dir/sshd_config" || true
  cat >> "$dir/sshd_config" <<END
ListenAddress 127.0.0.1
Port $port
HostKey $dir/host_key
AuthorizedKeysFile $dir/authorized_keys
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowStreamLocalForwarding yes
AllowTcpForwarding local
X11Forwarding no
END
  # Of most keywords the first counts; of this one the last would.
  grep -qs '^MaxStartups' "$dir/sshd_config.first" || echo "MaxStartups 100" >> "$dir/sshd_config"
  echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$dir/host_key.pub")" > "$dir/known_hosts"
  cat > "$dir/ssh_config" <<END
Host *
  HostName 127.0.0.1
  Port $port
  User $(id -un)
  IdentityFile $dir/user_key
  IdentitiesOnly yes
  UserKnownHostsFile $dir/known_hosts
  StrictHostKeyChecking yes
END
  echo "$port" > "$dir/port"
}

launch() {  # true once it answers
  local port=$1
  write_config "$port"
  setsid "$sshd" -D -e -f "$dir/sshd_config" < /dev/null >> "$dir/sshd.log" 2>&1 &
  local pid=$!
  echo "$pid" > "$dir/sshd.pid"
  for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || return 1
    if is_ours "$pid" && (exec 3<> "/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      sleep 0.02  # a stranger may hold the port: then ours has just ended
      kill -0 "$pid" 2>/dev/null && return 0
    fi
    sleep 0.05
  done
  return 1
}

start() {
  local port=$1
  sshd=$(command -v sshd || echo /usr/sbin/sshd)
  [[ -x "$sshd" ]] || fail "no sshd here; run: apt-get install openssh-server"
  # sshd started by root insists on its privilege separation directory.
  [[ $(id -u) -ne 0 ]] || mkdir -p /run/sshd
  stop
  local key
  for key in host_key user_key; do
    [[ -f "$dir/$key" ]] || ssh-keygen -q -t ed25519 -N '' -C "whetstone-$key" -f "$dir/$key"
  done
  cp "$dir/user_key.pub" "$dir/authorized_keys"
  : > "$dir/sshd.log"
  if [[ $port -ne 0 ]]; then
    launch "$port" && return 0
  else
    for _ in $(seq 20); do
      launch $((20000 + RANDOM % 12000)) && return 0
      stop
    done
  fi
  stop
  fail "sshd did not start on port $port: $(tail -n 3 "$dir/sshd.log" | tr '\n' ' ')"
}

[[ $# -ge 2 ]] || fail "usage: private_sshd.sh start DIR [PORT] | stop DIR"
umask 077
mkdir -p "$2"
dir=$(cd "$2" && pwd)
case $1 in
  start) start "${3:-0}" ;;
  stop) stop ;;
  *) fail "unknown command '$1': start or stop" ;;
esac
