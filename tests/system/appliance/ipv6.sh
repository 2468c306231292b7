#!/usr/bin/env bash
# A confined appliance listens at an IPv6 address: another host has every record, one of a network that `allow` does not
# cover has none, and ::1 is an address like any other.
#
#     ipv6.sh BIN_FOLDER SAMPLE_FOLDER        status 77: no namespaces here, no IPv6, or no libfabric
set -euo pipefail
bin=$(readlink -f "$1")
sample=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace ipv6

# The appliance is here; `left` and `right` are two other hosts. An address is there at once, without a look for others
# that have it.
ip link set lo up
ip -6 address show dev lo | grep -q "::1" || { echo "skipped: no IPv6"; exit $kSkipped; }
for side in left right; do
  make_namespace
  nsenter -t "$there" -n ip link set lo up
  number=$((90 + ${#children[@]}))
  lay_wire "to-$side" wire "10.$number.0"
  ip -6 address add "fd00:$number::1/64" dev "to-$side" nodad
  nsenter -t "$there" -n ip -6 address add "fd00:$number::2/64" dev wire nodad
  declare "$side=$there"
done
readonly at='[fd00:91::1]:7707'
nsenter -t "$right" -n ip -6 route add fd00:91::/64 via fd00:92::1 dev wire
# No functions: a signal to what they started in the background would reach a shell.
in_left=(nsenter -t "$left" -n)
in_right=(nsenter -t "$right" -n timeout 100)

cat >feed.toml <<TOML
name = "replayed"
[[image]]
name = "exchange"
templates = ["$sample/templates.xml"]
[[channel]]
number = 0
name = "incremental"
framing = "cme"
ring = "$folder/cme"
window = { packets = 1024, time = "100ms" }
a = { group = "239.20.1.1", port = 20001 }
b = { group = "239.20.2.1", port = 20002 }
TOML
# write_settings LISTEN ALLOW
write_settings() {
  cat >appliance.toml <<TOML
name = "$name"
state = "state"
[nic]
network = "$name"
listen = "$1"
[[publish]]
ring = "cme"
to = ["fabric"]
allow = ["$2"]
[[agent]]
name = "md"
[[port]]
name = "capture"
kind = "capture"
file = "$sample/capture.pcap.gz"
speed = 1
[[feed]]
file = "feed.toml"
a = "capture"
TOML
}
# has_all NAME READER: it ends in good order and has printed what the ring has.
has_all() {
  wait_for "! kill -0 $2 2>/dev/null"
  wait "$2" || { echo "the subscriber failed"; cat "$1.log"; exit 1; }
  "$bin/stopbit" tail ./cme >local.jsonl
  cmp local.jsonl "$1.jsonl" || { echo "$1 has other records"; exit 1; }
}

write_settings "$at" fd00:91::/64
start_appliance || { grep -q "libfabric" log && { echo "skipped: no libfabric"; exit $kSkipped; }; exit 1; }
if grep 'what="not confined"' log; then echo "the appliance was not confined"; exit 1; fi
"${in_left[@]}" "$bin/stopbit" tail "fabric://$at/cme" --from-start >left.jsonl 2>left.log &
left_reader=$!
children+=("$left_reader")
wait_for '[[ $(wc -l <left.jsonl) -ge 100 ]]'
wait_for 'grep -q "of node [0-9]* at fd00:91::2 has subscribed to .cme." log'
status=0
"${in_right[@]}" "$bin/stopbit" tail "fabric://$at/cme" >right.jsonl 2>right.log || status=$?
[[ $status == 1 && ! -s right.jsonl ]] || { echo "another network: status $status"; cat right.log; exit 1; }
grep -q "the ring is not for the subscriber's address" right.log || { cat right.log; exit 1; }
wait_for 'grep -q "at fd00:92::2 is refused (Address)" log'
stop_appliance
has_all left "$left_reader"

write_settings '[::1]:7707' ::1
start_appliance
"$bin/stopbit" tail 'fabric://[::1]:7707/cme' --from-start >own.jsonl 2>own.log &
own_reader=$!
children+=("$own_reader")
wait_for '[[ $(wc -l <own.jsonl) -ge 100 ]]'
stop_appliance
has_all own "$own_reader"
