#!/usr/bin/env bash
# HTTP of a running appliance: every metric that the shipped rules and the dashboard name is there, and clients that are
# slow, silent, huge or broken cost it nothing but their own connection.
#
#     http.sh BIN_FOLDER MONITORING_FOLDER        status 77: no network namespace here
set -euo pipefail
bin=$(readlink -f "$1")
monitoring=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace http
keep_little_memory
use_loopback
"$here/feed.sh" "$bin" "$name" lo lo
# Books and a replay service, which have metrics of their own.
PYTHONPATH=$here python3 -B - <<'PYTHON'
import pathlib
import replay_server

pathlib.Path("service.xml").write_text(replay_server.TEMPLATES)
pathlib.Path("map.toml").write_text(replay_server.MAP)
PYTHON
cat >>feed.toml <<TOML
[[image]]
name = "service"
templates = ["service.xml"]
[[channel]]
number = 4
name = "books"
image = "service"
framing = "moex"
ring = "$PWD/books"
map = "map.toml"
replay = "OLR"
a = { group = "239.30.4.1", port = 30004 }
TOML
cat >>appliance.toml <<TOML
[[replay]]
name = "service"
address = "127.0.0.1:9"
sender = "FIRM"
connections = 10
[nic]
network = "$name"
[[publish]]
ring = "ring"
TOML
start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
exchange=$!
"$bin/stopbit" tail ./ring --name book >/dev/null &
wait_for '"$bin/stopbit" stat "$name" | grep -q "^overrun of book at $PWD/ring "'
python3 "$here/http_test.py" 9464 $appliance "$monitoring"

# The same places of drops in every view; the screen fits 80 columns and 24 rows.
"$bin/stopbit" stat "$name" | grep "^overrun of book at $PWD/ring " || { echo "stat has no reader"; exit 1; }
"$bin/stopbit" top "$name" --once >screen
grep -q '^drops: .*duplicate [1-9]' screen || { cat screen; exit 1; }
awk 'length($0) > 80 { exit 1 } END { exit NR > 24 }' screen || { cat screen; echo "this is too large"; exit 1; }

# The log has a line for each change of state, in one form.
if grep -vE '^[0-9T:.-]+Z level=(info|warning|error) what="[^"]+"( [a-z_]+=([0-9]+|"([^"\\]|\\.)*"))*$' log; then
  echo "these lines of the log are of another form"
  exit 1
fi
for change in started "run begins" "channel state" gap "reader comes" "clients refused"; do
  grep -q "what=\"$change\"" log || { echo "the log has no '$change'"; exit 1; }
done

# What was lost can be asked for while nobody runs, and stands on the page of the next one.
kill -9 $exchange $appliance
wait $exchange $appliance 2>/dev/null || true
"$bin/stopbit" gaps "$name" --since 1h --json >before
[[ -s before ]] || { echo "no gap was kept"; exit 1; }
start_appliance
"$bin/stopbit" gaps "$name" --since 1h --json >after
cmp before after
python3 - <<'PYTHON'
import json, urllib.request
with urllib.request.urlopen("http://127.0.0.1:9464/history.json") as answer:
    shown = json.load(answer)["gaps"]
with open("before") as file:
    kept = [json.loads(line) for line in file]
keys = [gap.pop("key") for gap in shown]
assert len(set(keys)) == len(keys), "two gaps have one key"
assert shown == kept[-200:], (len(shown), len(kept))
print(f"{len(kept)} gaps were kept, {len(shown)} of them are on the page")
PYTHON
stop_appliance
