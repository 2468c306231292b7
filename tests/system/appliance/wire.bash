# What the scripts here share: sourced, with `bin` set. An exchange's network namespace is the one of the script; the
# appliance's is the same, or another one behind a wire.
# shellcheck shell=bash

readonly kSkipped=77
# Rings, counters and inboxes of this user.
rings=/dev/shm/stopbit-$(id -u)

# enter_namespace "TOOL..." ARGUMENT...: runs the script again, with these arguments, in a network of its own, so that
# nothing outside can be reached; status 77 if there is none, or one of the tools is missing.
enter_namespace() {
  local tool
  [[ ${inside_namespace:-} != yes ]] || return 0
  for tool in unshare nsenter ip python3 $1; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit $kSkipped; }
  done
  unshare --net --mount true 2>/dev/null || { echo "skipped: no network namespaces without privilege"; exit $kSkipped; }
  inside_namespace=yes exec unshare --net --mount "$0" "${@:2}"
}

# A folder, a name for counters, and the end of all of it.
make_workplace() {
  folder=$(mktemp -d)
  name=$1-$$
  mounts=()
  in_its_network=()
  trap end EXIT
  cd "$folder" || exit
}
# shellcheck disable=SC2329  # the trap calls it
end() {
  # What still runs of what was started here, as the shell knows it: the number of a process that has ended may be
  # another's by now. Waited for, as it may hold files in what goes then.
  local left
  left=$(jobs -pr)
  # shellcheck disable=SC2086  # numbers
  [[ -z $left ]] || kill -9 $left 2>/dev/null || true
  wait 2>/dev/null || true
  ((${#mounts[@]} == 0)) || umount "${mounts[@]}" 2>/dev/null || true
  rm -rf "$folder" "$rings/$name".*
}

# Exchange and appliance in one network.
use_loopback() {
  ip link set lo up
  ip link set lo multicast on
  ip route add 224.0.0.0/4 dev lo
}

# `there`: a process in a network namespace of its own.
make_namespace() {
  local own
  own=$(readlink /proc/self/ns/net)
  unshare --net sleep 1000 &
  there=$!
  for _ in $(seq 3000); do
    [[ $(readlink "/proc/$there/ns/net") == "$own" ]] || return 0
    sleep 0.01
  done
  echo "the namespace does not come"
  exit 1
}
# `there`: the appliance's namespace.
lay_first_wire() {
  make_namespace
  in_its_network=(nsenter -t "$there" -n)
  ip link set lo up
  nsenter -t "$there" -n ip link set lo up
  lay_wire tx0 rx0 10.77.0
  ip route add 224.0.0.0/4 dev tx0
}
# A cable: an end here, an end there, the first three bytes of their addresses.
lay_wire() {
  ip link add "$1" type veth peer name "$2"
  ip link set "$2" netns "$there"
  ip address add "$3.1/24" dev "$1"
  ip link set "$1" up
  nsenter -t "$there" -n ip address add "$3.2/24" dev "$2"
  nsenter -t "$there" -n ip link set "$2" up
}

# `left` and `right`: two other hosts, each behind a wire of its own; 10.91.0.2 and 10.92.0.2 are theirs, with .1 at the
# end ours. A server listens at one address: the right host finds 10.91.0.1 behind its own wire, too. What stands before
# a command there is `in_left` and `in_right`: no functions, as a signal to what they started in the background would
# reach a shell.
# shellcheck disable=SC2034  # scripts use them
make_two_hosts() {
  ip link set lo up
  make_namespace
  left=$there in_left=(nsenter -t "$there" -n)
  lay_wire to-left wire 10.91.0
  make_namespace
  right=$there in_right=(nsenter -t "$there" -n)
  lay_wire to-right wire 10.92.0
  "${in_left[@]}" ip link set lo up
  "${in_right[@]}" ip link set lo up
  "${in_right[@]}" ip route add 10.91.0.1 via 10.92.0.1 dev wire
}

# write_settings OPTION...: sim.toml, feed.toml and appliance.toml of an appliance that listens to an exchange;
# write_publisher OPTION...: feed.toml and appliance.toml of one that publishes the ring ./cme, made of a capture.
# settings.py has the options.
write_settings() { "$(dirname "${BASH_SOURCE[0]}")/settings.py" live "$bin" --name "$name" "$@"; }
write_publisher() { "$(dirname "${BASH_SOURCE[0]}")/settings.py" publisher --name "$name" "$@"; }

# More than three minutes, for a machine that is busy.
wait_for() {
  for _ in $(seq 1000); do
    if eval "$1"; then return; fi
    sleep 0.2
  done
  echo "waited in vain: $1"
  cat log
  # What the other processes have said is in the files *.log.
  tail -n 20 ./*.log 2>/dev/null || true
  exit 1
}

# For tests that measure memory: the sanitizer keeps what was freed, a quarter of a GiB, and it would count as growth.
# Last, since of two options of a name the last holds.
keep_little_memory() {
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:thread_local_quarantine_size_kb=16
}

# `appliance`: its process; its words go to the file log. Fails if it ends instead, and prints them.
start_appliance() {
  : >log
  "${in_its_network[@]}" "$bin/stopbit" run appliance.toml -q 2>>log &
  appliance=$!
  wait_for 'grep -q "what=\"started\"" log || ! kill -0 $appliance 2>/dev/null'
  kill -0 $appliance 2>/dev/null || { cat log; return 1; }
}
# The same of one that is to listen to other hosts, confined; the test is skipped where there is no libfabric.
start_publisher() {
  start_appliance || { grep -q "libfabric" log && { echo "skipped: no libfabric"; exit $kSkipped; }; exit 1; }
  if grep 'what="not confined"' log; then echo "the appliance was not confined"; exit 1; fi
}
stop_appliance() {
  kill -TERM "$appliance"
  wait "$appliance"
}
