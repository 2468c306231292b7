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

write_settings --rate 2000 --seconds 200 --window 'packets = 1024, time = "20ms"' --exchange '[impair_both]
loss = 0.002' --appliance '[control]
socket = "control.sock"
[recorder]
folder = "packets"
file = "1MiB"
line = "1GiB"
before = "2s"
after = "2s"'

start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!

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

# The same by one command: a capture and a text for each gap, which agree with what was cut by hand.
"$bin/stopbit" gaps "$name" --cut cut --around 3 >cut.log || { cat cut.log; exit 1; }
base=$(ls cut/incremental-"$first"*.txt | head -1)
cat "$base" | head -20
grep -q "none of the numbers" "$base"
python3 - "$bin/stopbit" "${base%.txt}.pcapng" "$first" "$last" <<'PYTHON'
import subprocess, sys
stopbit, capture, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
data = open(capture, "rb").read()
assert b"the first number after the gap" in data and b"the last number before the gap" in data
text = open(capture[:-len("pcapng")] + "txt").read()
rows = [line.split() for line in text.split("line B\n", 1)[1].split("\n\n")[0].splitlines()]
assert any(row[-1] == "missing" and row[1] == "-" for row in rows), rows
seen = {int(row[0]) for row in rows if row[-1] != "missing" and row[0].isdigit() and row[1] != "-"}
assert seen >= {first - 1, last + 1}, (seen, first, last)
assert "sequence %d" % (first - 1) in text and "sequence %d" % (last + 1) in text, text  # packets byte by byte
PYTHON

# A new image is tried on the recording first: one that fits, one that does not. The appliance does not notice.
"$bin/stopbit" ctl "$name" load cme --dry-run >trial || { cat trial; exit 1; }
cat trial
grep -Eq "^image 'cme' of feed '.*': [1-9][0-9,]* messages of [1-9][0-9,]* datagrams decoded, 0 datagrams failed" trial
cp made/cme.xml kept.xml
python3 - <<'PYTHON'
import re
text = open("made/cme.xml").read()
open("made/cme.xml", "w").write(re.sub(r'(<template [^>]*\bid=")', r'\g<1>9', text))
PYTHON
status=0
"$bin/stopbit" ctl "$name" load cme --dry-run >trial 2>trial.err || status=$?
((status == 1)) || { cat trial trial.err; exit 1; }
mv kept.xml made/cme.xml
! grep 'what="load"' log || { echo "a trial has loaded the image"; exit 1; }

# Frozen files are listed and compressed; commands read them as before.
"$bin/stopbit" frozen ls "$name" --json >frozen.json
"$bin/stopbit" frozen compress "$name"
"$bin/stopbit" frozen ls "$name" | grep -q 'pcapng.zst'
python3 - <<'PYTHON'
import json, os
for line in open("frozen.json"):  # gaps go on freezing others
    file = json.loads(line)["file"]
    assert file.endswith(".zst") or (os.path.exists(file + ".zst") and not os.path.exists(file)), file
PYTHON
# A link of that name leads nowhere.
mkdir again
echo "not to be overwritten" >kept
ln -s ../kept "again/$(basename "$base")"
ln -s ../kept "again/$(basename "${base%.txt}.pcapng")"
"$bin/stopbit" gaps "$name" --cut again --around 3 >/dev/null
grep -qx "not to be overwritten" kept
cmp "${base%.txt}.pcapng" "again/$(basename "${base%.txt}.pcapng")"
touch packets/frozen-incremental-a-999999.pcapng.zst.part  # of a process that was killed
"$bin/stopbit" frozen expire "$name" --older 30d
! ls packets/*.part 2>/dev/null || { echo "the remains of a killed process stay"; exit 1; }
"$bin/stopbit" frozen ls "$name" --json | grep -q zst

"$bin/stopbit" ctl "$name" freeze >answer
grep -q '^keeping the capture of the last 2' answer
status=0
"$bin/stopbit" ctl "$name" load nothing 2>refusal || status=$?
((status == 1)) && grep -q "nothing" refusal
(cd / && "$bin/stopbit" ctl "$name" status) | python3 -c 'import json, sys; assert json.load(sys.stdin)["recorder"]'
grep -q 'what="freeze"' log
grep -q 'what="command" command="freeze"' log

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
