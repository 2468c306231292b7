#!/usr/bin/env bash
# A confined appliance and its opener process: what still changes while it runs (an image, the log of gaps, recordings),
# which filter each thread has, and that it decodes on when the opener is killed.
#
#     confined.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "pgrep curl" "$@"
make_workplace confined
use_loopback

write_settings --rate 2500 --seconds 300 --sends lo --receives lo --exchange '[impair_both]
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
# A calendar, which a reload reads again.
sed -i 's/^file = "feed.toml"/&\ncalendar = "calendar.toml"/' appliance.toml
echo '2000-01-01' >holidays.txt
cat >calendar.toml <<'TOML'
zone = "Europe/Berlin"
holidays = "holidays.txt"
[[session]]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
from = "00:00"
to = "24:00"
TOML
start_appliance
if grep 'what="not confined"' log | grep -v "no Landlock"; then echo "the appliance was not confined"; exit 1; fi
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!

# say COMMAND: its answer.
say() {
  python3 - "$1" <<'PYTHON'
import socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect("control.sock")
door.sendall(sys.argv[1].encode() + b"\n")
print(door.makefile().readline().strip())
PYTHON
}
messages() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["channels"][0]["messages"])'; }

opener=$(pgrep -P "$appliance")
[[ $(cat "/proc/$opener/comm") == stopbit-opener ]]
# The opener has nothing of the log, and no privileges but for sockets.
[[ $(readlink "/proc/$opener/fd/2") == /dev/null ]]
(($(ls "/proc/$opener/fd" | wc -l) == 4))
for process in "$appliance" "$opener"; do
  grep -q '^NoNewPrivs:[[:space:]]1$' "/proc/$process/status"
  grep -q '^CapBnd:[[:space:]]0*$' "/proc/$process/status"
done
grep -q '^CapPrm:[[:space:]]0*$' "/proc/$appliance/status"
# These threads have given up more than the process: two filters, one over the other. A kernel before 5.9 does not
# count them.
wait_for '(($(messages) > 100))'
for wanted in stopbit md recorder log; do
  task=$(grep -lx "$wanted" /proc/"$appliance"/task/*/comm | head -1)
  [[ -n $task ]] || { echo "there is no thread $wanted"; exit 1; }
  count=$(awk '/^Seccomp_filters:/ { print $2 }' "${task%comm}status")
  [[ -z $count ]] || ((count == 2)) || { echo "the thread $wanted has $count filters"; exit 1; }
done

# The log of gaps and recordings are written by way of the opener, and renamed.
wait_for 'grep -q "what=\"gap\"" log'
wait_for '[[ -s $(echo state/gaps-*.jsonl) ]]'
wait_for 'ls packets/frozen-incremental-a-*.pcapng >/dev/null 2>&1'
# Another image: the file of the name is another one now.
cp made/cme.xml made/new.xml
echo '<!-- another -->' >>made/new.xml
mv made/new.xml made/cme.xml
answer=$(say "load cme")
[[ $answer == "the image 'cme' is loading into 1 ring" ]] || { echo "$answer"; exit 1; }
wait_for 'grep -q "what=\"layout changed\"" log'
# Back to the one before, which is in memory: its file is another one by now.
cp made/cme.xml other.xml
python3 - <<'PYTHON'
import re
text = open("made/cme.xml").read()
open("made/cme.xml", "w").write(re.sub(r'(<template [^>]*name=")', r'\1X', text))
PYTHON
wait_for '[[ $(say "load cme") == "the image '"'cme'"' is loading into 1 ring" ]]'
wait_for '(($(grep -c "what=\"layout changed\"" log) >= 2))'
wait_for '[[ $(say "rollback cme") == *"as it was before" ]]'
wait_for '(($(grep -c "what=\"layout changed\"" log) >= 3))'
[[ $(say "rollback none") == "error: unknown image 'none'" ]]

# Everything is read again by way of the opener: an image whose file says something else, a token, and what needs a
# restart is named. A signal does the same. What was rolled back stays away until its file changes once more.
answer=$(say reload)
[[ $answer == "in force: users, permissions, hosts, token and certificates" ]] || { echo "$answer"; exit 1; }
sed -i 's/name="X/name="Y/' made/cme.xml
answer=$(say reload)
[[ $answer == "in force: users, permissions, hosts, token and certificates, images cme" ]] || { echo "$answer"; exit 1; }
mv other.xml made/cme.xml
sed -i 's/^state = .*/&\nsilence = "9s"/' appliance.toml
sed -i 's/20ms/30ms/' feed.toml
kill -HUP "$appliance"
wait_for 'grep -q "what=\"reload\" by=\"SIGHUP\"" log'
grep 'what="reload" by="SIGHUP"' log | grep -q 'needs a restart:.*silence' || { grep reload log; exit 1; }
echo "nonsense" >>appliance.toml
answer=$(say reload)
[[ $answer == "error: nothing changed: appliance.toml:"* ]] || { echo "$answer"; exit 1; }
sed -i '$d' appliance.toml
# Every command is in the files of the audit, with its user.
python3 - <<'PYTHON'
import glob, json, os
entries = [json.loads(line) for line in open(glob.glob("state/commands-*.jsonl")[0])]
assert [e["command"] for e in entries][:1] == ["load cme"], entries
assert {e["command"] for e in entries} >= {"load cme", "rollback cme", "reload"}, entries
assert all(e["user"] == os.getuid() and e["process"] and e["answer"] for e in entries), entries
PYTHON
curl -sf http://127.0.0.1:9464/metrics >metrics
grep -q '^stopbit' metrics

# Without the opener it decodes on, answers, and says once what does not work any more.
kill -9 "$opener"
wait_for 'grep -q "what=\"opener ended\"" log'
before=$(messages)
wait_for '(($(messages) > before + 500))'
wait_for 'grep -q "what=\"gaps not written\"" log'
answer=$(say "load cme")
[[ $answer == "error: "*"the previous image remains in use"* ]] || { echo "$answer"; exit 1; }
curl -sf http://127.0.0.1:9464/status.json >/dev/null
(($(grep -c 'what="opener ended"' log) == 1))

kill -9 $exchange
stop_appliance
