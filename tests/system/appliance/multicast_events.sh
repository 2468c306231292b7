#!/usr/bin/env bash
# A ring of market events on two multicast lines: readers that have neither the ring nor its tables print the same bytes
# as those of the ring, in each format of events.
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

"$here/settings.py" market --name "$name" --sample "$sample" --ring "$folder/cme" --speed 20
cat >>appliance.toml <<'TOML'
[[multicast]]
ring = "cme-events"
a = "239.255.7.1:7001"
b = "239.255.7.2:7002"
interface_a = "lo"
interface_b = "lo"
loop = true
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
"$bin/stopbit" run appliance.toml -q 2>>log || { echo "the appliance failed"; cat log; exit 1; }
for reader in "${readers[@]}"; do
  wait "$reader" || { echo "a reader failed"; cat ./*.log; exit 1; }
done
for format in "${formats[@]}"; do
  "$bin/stopbit" tail ./cme-events --format "$format" >"want.$format"
  cmp "want.$format" "got.$format" || { cat "$format.log"; exit 1; }
done
(($(wc -l <want.jsonl) > 1000)) || { echo "few events"; exit 1; }
