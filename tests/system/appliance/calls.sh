#!/usr/bin/env bash
# The system calls of a confined appliance that receives, records, answers HTTP and commands, loads an image and ends:
# each thread has a filter of its own, and none is refused a call that it needs.
#
#     calls.sh BIN_FOLDER APPLIANCE_TEST        status 77: no strace or no network namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
lists=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "strace curl" "$@"
strace -qq -Y -o /dev/null true 2>/dev/null || { echo "skipped: strace cannot trace here"; exit $kSkipped; }
make_workplace calls
use_loopback
write_settings --rate 500 --seconds 300 --sends lo --receives lo --exchange '[impair_both]
loss = 0.01' --appliance '[control]
socket = "control.sock"
[http]
listen = "127.0.0.1:9464"
[recorder]
folder = "packets"
file = "1MiB"
line = "2MiB"
before = "10ms"
after = "10ms"'
# A tracer that is no parent: the appliance keeps its number. It waits at each call, so little is sent.
mkdir traced
cat >traced/stopbit <<SCRIPT
#!/bin/sh
exec strace -D -f -Y -qq -s 0 -o $folder/trace $bin/stopbit "\$@"
SCRIPT
chmod +x traced/stopbit
real=$bin
bin=$folder/traced
start_appliance
bin=$real
if grep 'what="not confined"' log | grep -v "no Landlock"; then echo "the appliance was not confined"; exit 1; fi
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!
wait_for 'grep -q "what=\"gap\"" log'
wait_for 'ls packets/frozen-incremental-a-*.pcapng >/dev/null 2>&1'
"$bin/stopbit" tail ./ring --name book >/dev/null &
wait_for 'grep -q "what=\"reader comes\"" log'
curl -sf http://127.0.0.1:9464/metrics >/dev/null
# The packets of a gap, out of the recordings.
python3 - <<'PYTHON'
import json, sys, time, urllib.parse, urllib.request
def ask(path):
    with urllib.request.urlopen(f"http://127.0.0.1:9464/{path}", timeout=60) as answer:
        return json.load(answer)
gap = ask("history.json")["gaps"][0]
query = urllib.parse.urlencode({"channel": gap["channel"], "key": gap["key"]})
while (answer := ask("gap.json?" + query)).get("state") in ("reading", "waiting"):
    time.sleep(0.2)
sys.exit(not answer.get("explained"))
PYTHON
python3 - <<'PYTHON'
import socket
door = socket.socket(socket.AF_UNIX)
door.connect("control.sock")
door.sendall(b"load cme\n")
print(door.makefile().readline().strip())
PYTHON
wait_for 'grep -q "what=\"layout changed\"" log'
kill -9 $exchange
stop_appliance
wait_for '! pgrep -f "strace.*$folder/trace" >/dev/null'  # all is written
"$here/calls.py" "$lists" trace "$appliance"
