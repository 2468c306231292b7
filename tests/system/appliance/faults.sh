#!/usr/bin/env bash
# What goes wrong around a running appliance stays there: clients that hold its doors open, a killed process, a port
# that is unplugged. The data path goes on, and the operator is told.
#
#     faults.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace faults
lay_first_wire
lay_wire tx1 rx1 10.78.0

write_settings --rate 1000 --seconds 300 --sends tx0,tx1 --receives rx0,rx1 --window 'packets = 4096, time = "200ms"' \
  --exchange '[impair_both]
loss = 0.001' --head 'silence = "1s"' --appliance '[control]
socket = "control.sock"
[http]
listen = "127.0.0.1:9464"'

# A number of `stopbit stat`: a Python expression of `channel`.
stat() {
  "$bin/stopbit" stat "$name" --json | python3 -c "
import json, sys
channel = json.load(sys.stdin)['channels'][0]
print($1)"
}
messages() { stat "channel['messages']"; }
goes_on() {
  local before
  before=$(messages)
  wait_for "((\$(messages) > $before + 500))"
}
# A reader comes when it comes: what it is asked for at the end is there, and more.
has_read() { wait_for "((\$(wc -l <$1) > 500))"; }
# What a reader has got: every number from the first to the last, in a record or in a gap.
check_life() {
  python3 - "$1" <<'PYTHON'
import json, sys
lines = open(sys.argv[1]).read().split("\n")[:-1]  # the last one may be cut: readers are killed
records, next_number = 0, None
for line in lines:
    item = json.loads(line)
    if "template" in item:
        first, count = item["fields"]["MsgSeqNum"], 1
        records += 1
    elif item["event"] == "gap":
        first, count = item["first"], item["missing"]
    else:
        continue
    assert next_number in (None, first), (next_number, line)
    next_number = first + count
assert records > 100, records
print(f"{records} records up to number {next_number - 1}")
PYTHON
}
accounts_balance() {
  "$bin/stopbit" stat "$name" --json >account.json
  python3 - <<'PYTHON'
import json
channel = json.load(open("account.json"))["channels"][0]
packets, numbers = channel["packets"], channel["numbers"]
assert packets["received"] == sum(packets[k] for k in packets if k != "received"), packets
assert numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), numbers
PYTHON
}

start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!
goes_on

echo "clients that say nothing, half a word, or take no answers, hold all doors"
nsenter -t $there -n python3 - <<'PYTHON' &
import socket, time
held = []
for i in range(300):
    try:
        if i % 2:
            door = socket.create_connection(("127.0.0.1", 9464), 5)
            door.sendall(b"GET /met" if i % 4 == 1 else b"")
        else:
            door = socket.socket(socket.AF_UNIX)
            door.connect("control.sock")
            door.sendall(b"stat" if i % 4 == 0 else b"status\n")
        held.append(door)
    except OSError as error:
        held.append(error)
open("held", "w").write("held\n")
time.sleep(100)
PYTHON
clients=$!
wait_for '[[ -s held ]]'
goes_on
# They are closed after their time, and the next one is served.
asks() {
  python3 -c '
import json, socket
door = socket.socket(socket.AF_UNIX)
door.settimeout(5)
door.connect("control.sock")
door.sendall(b"status\n")
assert json.loads(door.makefile().readline())["running"]' 2>/dev/null
}
wait_for asks
kill -9 $clients

echo "kill -9 and a restart, with a reader before and one behind it"
wait_for '"$bin/stopbit" gaps "$name" --json >gaps-before && [[ -s gaps-before ]]'
"$bin/stopbit" tail "$folder/ring" >first-life 2>first-words &
reader=$!
has_read first-life
kill -9 $appliance
wait $appliance 2>/dev/null || true
status=0
wait $reader || status=$?
((status == 3)) && grep -q 'the writer died' first-words || { cat first-words; exit 1; }
check_life first-life
! "$bin/stopbit" ready "$name" >ready-text || { echo "ready although it is dead"; cat ready-text; exit 1; }
start_appliance
"$bin/stopbit" tail "$folder/ring" >second-life 2>/dev/null &
reader=$!
has_read second-life
wait_for '"$bin/stopbit" ready "$name" >/dev/null'
wait_for 'accounts_balance 2>/dev/null'  # counters are read while they change: now and then
kill $reader
wait $reader || true
check_life second-life
"$bin/stopbit" gaps "$name" --json >gaps-after
python3 - <<'PYTHON'
import json
read = lambda name: {(gap["first"], gap["count"]) for gap in map(json.loads, open(name))}
before, after = read("gaps-before"), read("gaps-after")
assert before and before <= after, before - after
PYTHON

echo "the interface of line A is taken away"
nsenter -t $there -n ip link set rx0 netns $$
ip link set rx0 up
wait_for 'grep -Eq "what=\"line silent\".*line=\"?A" log'
goes_on
! "$bin/stopbit" ready "$name" >ready-text || { echo "ready with one line"; cat ready-text; exit 1; }

kill -9 $exchange
stop_appliance
accounts_balance
grep -v 'what="gap"' log
