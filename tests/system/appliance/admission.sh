#!/usr/bin/env bash
# Who may subscribe to a published ring: a confined appliance lets the addresses in that it was told, as the connection
# has them, and says why it lets others not.
#
#     admission.sh BIN_FOLDER SAMPLE_FOLDER        status 77: no namespaces here, or no libfabric
set -euo pipefail
bin=$(readlink -f "$1")
sample=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace admission

make_two_hosts
readonly at=10.91.0.1:7707

write_publisher --sample "$sample" --speed 0.2 --nic "listen = \"$at\"
subscribers_per_address = 1" --publish '[[publish]]
ring = "cme"
as = "left-only"
to = ["fabric"]
allow = ["10.91.0.0/30", "fd00::/8"]'
start_publisher

"${in_left[@]}" "$bin/stopbit" tail "fabric://$at/left-only" --wait --from-start >left.jsonl 2>left.log &
left_reader=$!
wait_for '[[ -s left.jsonl ]]'
status=0
"${in_right[@]}" timeout 100 "$bin/stopbit" tail "fabric://$at/left-only" >right.jsonl 2>right.log || status=$?
[[ $status == 1 && ! -s right.jsonl ]] || { echo "another address: status $status"; cat right.log; exit 1; }
grep -q "the subscriber's address is not allowed to read the ring" right.log || { cat right.log; exit 1; }
wait_for 'grep -Eq "text=.fabric: port [0-9]+ of node [0-9]+ at 10.92.0.2 was refused \(Address\)" log'
# The left host has its one place.
"${in_left[@]}" "$bin/stopbit" subscribe "fabric://$at/left-only" --ring "$folder/second" 2>second.log &
wait_for '"$bin/stopbit" stat "$name" | grep -Eq "^fabric +Crowded +[1-9]"'
"$bin/stopbit" stat "$name" >stat
grep -Eq "^fabric +Address +1" stat || { cat stat; exit 1; }
grep -Eq "^fabric 10\.91\.0\.2 node [0-9]+ port [0-9]+ +left-only +running" stat || { cat stat; exit 1; }
[[ $(grep -c "^fabric 10" stat) == 1 && ! -e second ]] || { cat stat second.log; exit 1; }
"$bin/stopbit" top "$name" --once | grep -q "^published: 1 subscribers, .* refused" || { echo "top"; exit 1; }
stop_appliance
wait "$left_reader" || { echo "the subscriber failed"; cat left.log; exit 1; }
