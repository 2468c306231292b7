#!/usr/bin/env bash
# The recorder of an appliance, on a disk of its own: packets around a gap are cut out of the files while they are
# written, `freeze` keeps them, a full disk stops the recording and nothing else, and room lets it go on.
#
#     record.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "mount" "$@"
make_workplace record
mkdir packets
mount -t tmpfs -o size=32m stopbit-test packets || { echo "skipped: no tmpfs here"; exit $kSkipped; }
mounts+=("$folder/packets")
lay_first_wire

cat >sim.toml <<'TOML'
preset = "cme"
seed = 7
duration = "200s"
channels = 1
instruments = 20
rate = 2000
heartbeat_every = "100ms"
[line_a]
group = "239.30.1.1:30001"
interface = "tx0"
[line_b]
group = "239.30.2.1:31001"
interface = "tx0"
[impair_both]
loss = 0.002
TOML
cat >feed.toml <<TOML
name = "live"
[[image]]
name = "cme"
templates = ["cme.xml"]
[[channel]]
number = 1
name = "incremental"
framing = "cme"
ring = "$folder/ring"
window = { packets = 1024, time = "20ms" }
a = { group = "239.30.1.1", port = 30001 }
b = { group = "239.30.2.1", port = 31001 }
TOML
cat >appliance.toml <<TOML
name = "$name"
state = "state"
[control]
socket = "control.sock"
[recorder]
folder = "packets"
file = "1MiB"
line = "1GiB"
before = "2s"
after = "2s"
[[agent]]
name = "md"
[[port]]
name = "wire"
interface = "rx0"
[[feed]]
file = "feed.toml"
a = "wire"
TOML
"$bin/stopbit" simulate sim.toml -o /dev/null --write-feed simulated -q 2>/dev/null
cp simulated/cme.xml .

start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!
children+=("$exchange")

wait_for 'grep -q "what=\"gap\"" log'
wait_for 'ls packets/frozen-incremental-a-*.pcapng >/dev/null 2>&1'
"$bin/stopbit" gaps "$name" --json >gaps.json
python3 - >range <<'PYTHON'
import json
text = open("gaps.json").read()
gap = json.loads(text.splitlines()[0])
print(gap["first"], gap["first"] + gap["count"] - 1)
PYTHON
read -r first last <range
"$bin/stopbit" slice packets/*.pcapng --feed feed.toml --channel incremental --seq $((first - 3))..$((last + 3)) \
  -w around.pcapng 2>slice.log || { cat slice.log; exit 1; }
cat slice.log
if "$bin/stopbit" slice packets/*.pcapng --feed feed.toml --channel incremental --seq "$first..$last" -w - 2>/dev/null \
  >lost.pcapng; then
  echo "the recording has what was lost"
  exit 1
fi
grep -Eq ': [3-9] packets of line A, [3-9] of line B' slice.log

python3 - <<'PYTHON'
import socket
door = socket.socket(socket.AF_UNIX)
door.connect("control.sock")
door.sendall(b"freeze\n")
answer = door.makefile().readline()
assert answer.startswith("what came in the last 2"), answer
PYTHON
grep -q 'what="freeze"' log

messages() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["channels"][0]["messages"])'; }
cat /dev/zero >packets/filler 2>/dev/null || true
wait_for 'grep -q "what=\"recording stops\".*No space left" log'
before=$(messages)
wait_for '(($(messages) > before + 1000))'
rm packets/filler
wait_for 'grep -q "what=\"recording goes on\"" log'
(($(grep -c 'what="recording stops"' log) == 1))

kill -9 $exchange
stop_appliance
"$bin/stopbit" stat "$name" --json >end.json
"$bin/stopbit" stat "$name" | grep -A 2 Recorder
python3 - <<'PYTHON'
import json
end = json.load(open("end.json"))
recorder, packets = end["recorder"], end["channels"][0]["packets"]
assert recorder["recorded"] + recorder["failed"] + recorder["no_room"] == packets["received"], (recorder, packets)
assert recorder["failed"] > 0 and recorder["frozen_files"] > 0 and recorder["failing_lines"] == 0, recorder
assert packets["received"] == sum(packets[k] for k in packets if k != "received"), packets
PYTHON
