#!/usr/bin/env bash
# A ring of market events on two multicast lines: readers that have neither the ring nor its tables print the same bytes
# as those of the ring, in each format of events. Late ones get the books first, and then exactly the events after them.
#
#     multicast_events.sh BIN_FOLDER SAMPLE_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
sample=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace multicast-events
: >log
use_loopback

"$here/settings.py" market --name "$name" --sample "$sample" --ring "$folder/cme" --speed 6
cat >>appliance.toml <<'TOML'
[[multicast]]
ring = "cme-events"
a = "239.255.7.1:7001"
b = "239.255.7.2:7002"
interface_a = "lo"
interface_b = "lo"
loop = true
refill = "127.0.0.1:7003"
state = true
TOML
readonly formats=(jsonl csv sbe)
readers=()
for format in "${formats[@]}"; do
  "$bin/stopbit" tail multicast://239.255.7.1:7001,239.255.7.2:7002 --interface-a lo --format "$format" >"got.$format" \
    2>"$format.log" &
  readers+=($!)
done
# Each has joined both groups.
wait_for '(($(grep -Ec "(01|02)07FFEF +3 " /proc/net/igmp) == 2))'
"$bin/stopbit" run appliance.toml -q 2>>log &
appliance=$!
late=()
for i in 1 2 3; do
  wait_for "((\$(wc -l <got.csv) > $((i * 150 - 140))))"
  "$bin/stopbit" tail multicast://239.255.7.1:7001,239.255.7.2:7002 --interface-a lo --refill 127.0.0.1:7003 --state \
    >"late.$i" 2>"late.$i.log" &
  late+=($!)
done
wait "$appliance" || { echo "the appliance failed"; cat log; exit 1; }
for reader in "${late[@]}"; do
  wait "$reader" || { echo "a late reader failed"; cat ./late.*.log; exit 1; }
done
for reader in "${readers[@]}"; do
  wait "$reader" || { echo "a reader failed"; cat ./*.log; exit 1; }
done
for format in "${formats[@]}"; do
  "$bin/stopbit" tail ./cme-events --format "$format" >"want.$format"
  cmp "want.$format" "got.$format" || { cat "$format.log"; exit 1; }
done
(($(wc -l <want.jsonl) > 1000)) || { echo "few events"; exit 1; }
for i in 1 2 3; do
  python3 "$here/multicast_state.py" want.jsonl "late.$i" >"late.$i.txt" || { cat "late.$i.txt" "late.$i.log"; exit 1; }
done
# The first one began when most of the capture was still to come.
grep -q "then [1-9]" late.1.txt || { cat late.1.txt; exit 1; }
