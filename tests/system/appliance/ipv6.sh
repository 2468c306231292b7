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

make_two_hosts
ip -6 address show dev lo | grep -q "::1" || { echo "skipped: no IPv6"; exit $kSkipped; }
# An address is there at once, without a look for others that have it.
for wire in left:91 right:92; do
  side=${wire%:*} number=${wire#*:}
  ip -6 address add "fd00:$number::1/64" dev "to-$side" nodad
  nsenter -t "${!side}" -n ip -6 address add "fd00:$number::2/64" dev wire nodad
done
readonly at='[fd00:91::1]:7707'
"${in_right[@]}" ip -6 route add fd00:91::/64 via fd00:92::1 dev wire

# publish_at LISTEN ALLOW: the settings.
publish_at() {
  write_publisher --sample "$sample" --speed 0.2 --nic "listen = \"$1\"" --publish "[[publish]]
ring = \"cme\"
to = [\"fabric\"]
allow = [\"$2\"]"
}
# has_all NAME READER: it ends in good order and has printed what the ring has.
has_all() {
  wait_for "! kill -0 $2 2>/dev/null"
  wait "$2" || { echo "the subscriber failed"; cat "$1.log"; exit 1; }
  "$bin/stopbit" tail ./cme >local.jsonl
  cmp local.jsonl "$1.jsonl" || { echo "$1 has other records"; exit 1; }
}

publish_at "$at" fd00:91::/64
start_publisher
"${in_left[@]}" "$bin/stopbit" tail "fabric://$at/cme" --wait --from-start >left.jsonl 2>left.log &
left_reader=$!
wait_for '[[ $(wc -l <left.jsonl) -ge 100 ]]'
wait_for 'grep -q "of node [0-9]* at fd00:91::2 subscribed to .cme." log'
status=0
"${in_right[@]}" timeout 100 "$bin/stopbit" tail "fabric://$at/cme" >right.jsonl 2>right.log || status=$?
[[ $status == 1 && ! -s right.jsonl ]] || { echo "another network: status $status"; cat right.log; exit 1; }
grep -q "the subscriber's address is not allowed to read the ring" right.log || { cat right.log; exit 1; }
wait_for 'grep -q "at fd00:92::2 was refused (Address)" log'
stop_appliance
has_all left "$left_reader"

publish_at '[::1]:7707' ::1
start_appliance
"$bin/stopbit" tail 'fabric://[::1]:7707/cme' --wait --from-start >own.jsonl 2>own.log &
own_reader=$!
wait_for '[[ $(wc -l <own.jsonl) -ge 100 ]]'
stop_appliance
has_all own "$own_reader"
