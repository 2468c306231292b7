#!/usr/bin/env bash
# An exchange in one network namespace, an appliance in another, a wire between them: nothing is lost, every packet is
# accounted for, and an appliance that was killed goes on where it is started again. A replay of the packets as they
# were recorded gives the records of the ring.
#
#     live.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace live
lay_first_wire

write_settings --rate 2000 --seconds 12 --head 'silence = "2s"' --appliance '[recorder]
folder = "packets"'

# The first channel, as `stopbit stat` shows it, is as this Python expression wants it.
channel_has() {
  "$bin/stopbit" stat "$name" --json | python3 -c "
import json, sys
channel = json.load(sys.stdin)['channels'][0]
sys.exit(not ($1))"
}

start_appliance
"$bin/stopbit" simulate sim.toml 2>sent &
exchange=$!
wait_for "channel_has \"channel['messages'] > 1000\""
kill -9 $appliance
wait $appliance 2>/dev/null || true
start_appliance
wait_for '"$bin/stopbit" ready "$name" >/dev/null'
kill -0 $exchange 2>/dev/null || { echo "the exchange has ended before the appliance was ready again"; exit 1; }
wait $exchange
last=$(awk '$2 == "incremental" { print $7 }' sent)
wait_for "channel_has \"all(line['last_sequence'] == $last for line in channel['lines'].values())\""
"$bin/stopbit" stat "$name" --json >live.json
stop_appliance
"$bin/stopbit" stat "$name" --json >end.json
"$bin/stopbit" stat "$name"
"$bin/stopbit" gaps --state state --since 1h --json >gaps.json

python3 - <<'PYTHON'
import json
live, end = json.load(open("live.json")), json.load(open("end.json"))
assert live["running"] and not end["running"]
channel = end["channels"][0]
packets, numbers, lines = channel["packets"], channel["numbers"], channel["lines"]
assert packets["received"] == sum(packets[k] for k in packets if k != "received"), packets
assert numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), numbers
assert lines["A"]["packets"] > 1000 and lines["B"]["packets"] > 1000, lines
assert packets["malformed"] == packets["incomplete"] == packets["held"] == 0, packets
assert channel["decode_errors"] == channel["unknown_template"] == 0, channel
assert channel["messages"] >= packets["delivered"] > 1000, channel
dropped = sum(port["dropped_by_kernel"] + port["dropped_by_nic"] for port in end["ports"])
gaps = [json.loads(line) for line in open("gaps.json")]
down = [gap for gap in gaps if gap["cause"] == "appliance down"]
assert len(down) == 1 and 0 < down[0]["count"], "what passed while it was down is one gap"
assert numbers["lost"] == down[0]["count"] or dropped, numbers
assert end["agents"][0]["latency_ns"]["count"] > 0
print("delivered", packets["delivered"], "duplicate", packets["duplicate"], "lost", numbers["lost"])
PYTHON
"$bin/stopbit" tail ./ring --format jsonl | tail -1 | grep -q '"template"'

# Slot for slot, but for arrival times, lines and qualities of time. Of packets that the kernel dropped on one line, the
# other copy may come too late for the window live, and in time by its arrival: then gaps differ, but no record does.
"$bin/stopbit_ring_slots" ./ring >ring.slots
"$bin/stopbit" replay packets/*.pcapng --merge --feed feed.toml -q --ring ./again --ring-slots 1048576
"$bin/stopbit_ring_slots" ./again >again.slots
python3 - <<'PYTHON'
import json
MARKET_OR_EVENT = (0xFFFD, 0xFFFE)

def records(name):
    """(is an event, number of packet and message, slots without what may differ)"""
    for line in open(name):
        words = [int(word, 16) for word in line.split()]
        words[1] = 0                       # arrival_ns
        words[3] &= 0x0000_FFFF_FFFF_FFFF  # source, time_quality
        yield words[0] & 0xFFFF in MARKET_OR_EVENT, (words[2] & 0xFFFF_FFFF_FFFF, words[3] >> 16 & 0xFFFF), words

ring, replayed = list(records("ring.slots")), list(records("again.slots"))
dropped = sum(port["dropped_by_kernel"] + port["dropped_by_nic"] for port in json.load(open("end.json"))["ports"])
assert len(ring) > 1000, len(ring)
if ring[0][0]:  # what passed while the appliance was down, unless it is overwritten
    del ring[0]
if dropped:
    by_number = {number: words for is_event, number, words in replayed if not is_event}
    ring = [record for record in ring if not record[0]]
    assert all(by_number.get(number) == words for _, number, words in ring), "the replay has other records"
else:
    assert replayed[-len(ring):] == ring, (len(ring), len(replayed))
print(len(ring), "records of the ring are those of the replay, slot for slot;", dropped, "datagrams dropped")
PYTHON
