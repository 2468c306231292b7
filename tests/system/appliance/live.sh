#!/usr/bin/env bash
# An exchange in one network namespace, an appliance in another, a wire between them: nothing is lost, every packet is
# accounted for, and an appliance that was killed goes on where it is started again.
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

write_settings --rate 2000 --seconds 6 --head 'silence = "2s"'

start_appliance
"$bin/stopbit" simulate sim.toml -q &
exchange=$!
sleep 2
kill -9 $appliance
wait $appliance 2>/dev/null || true
start_appliance
sleep 2
"$bin/stopbit" ready "$name" || { echo "not ready in the middle of it"; exit 1; }
wait $exchange
sleep 0.5
"$bin/stopbit" stat "$name" --json >live.json
stop_appliance
"$bin/stopbit" stat "$name" --json >end.json
"$bin/stopbit" stat "$name"

python3 - <<'PYTHON'
import json
live, end = json.load(open("live.json")), json.load(open("end.json"))
assert live["running"] and not end["running"]
channel = end["channels"][0]
packets, numbers, lines = channel["packets"], channel["numbers"], channel["lines"]
assert packets["received"] == sum(packets[k] for k in packets if k != "received"), packets
assert numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), numbers
assert lines["A"]["packets"] > 4000 and lines["B"]["packets"] > 4000, lines
assert packets["malformed"] == packets["incomplete"] == packets["held"] == 0, packets
assert channel["decode_errors"] == channel["unknown_template"] == 0, channel
assert channel["messages"] >= packets["delivered"] > 4000, channel
dropped = sum(port["dropped_by_kernel"] + port["dropped_by_nic"] for port in end["ports"])
assert numbers["lost"] == 0 or dropped, numbers
assert end["agents"][0]["latency_ns"]["count"] > 0
print("delivered", packets["delivered"], "duplicate", packets["duplicate"], "lost", numbers["lost"])
PYTHON
"$bin/stopbit" tail ./ring --format jsonl | tail -1 | grep -q '"template"'
