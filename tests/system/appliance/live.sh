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

# Arrival times, lines and qualities of time are not in these lines. What the kernel has dropped on one line may arrive
# too late for the window live, and not by its time of arrival.
"$bin/stopbit" tail ./ring --format jsonl >ring.jsonl
"$bin/stopbit" replay packets/*.pcapng --merge --feed feed.toml -q --format jsonl >replayed.jsonl
python3 - <<'PYTHON'
import json
ring, replayed = (open(name).read().splitlines() for name in ("ring.jsonl", "replayed.jsonl"))
dropped = sum(port["dropped_by_kernel"] + port["dropped_by_nic"] for port in json.load(open("end.json"))["ports"])
assert len(ring) > 1000, len(ring)
if json.loads(ring[0]).get("event") == "gap":  # what passed while the appliance was down, unless it is overwritten
    del ring[0]
assert dropped or replayed[-len(ring):] == ring, (len(ring), len(replayed))
print(len(ring), "records of the ring are those of the replay" if not dropped else "records, not compared: drops")
PYTHON
