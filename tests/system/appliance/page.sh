#!/usr/bin/env bash
# The page of a running appliance in headless Chromium: an exchange with a bad network plays into it, and a datagram that
# does not decode. What the browser made of the page is checked, and screenshots are kept.
#
#     page.sh BIN_FOLDER OUTPUT_FOLDER        status 77: no network namespace here; without a browser it fails
set -euo pipefail
readonly kHttpPort=9464
bin=$(readlink -f "$1")
mkdir -p "$2"
output=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
command -v chromium >/dev/null || { echo "there is no browser: install Debian's package chromium"; exit 1; }
enter_namespace "" "$@"
make_workplace page
use_loopback
"$here/feed.sh" "$bin" "$name" lo lo
# And a feed with a map, at its own pace, for the books.
sample=$here/../../data/sample
sed "s|../../../tests/data/sample|$sample|; s|name = \"incremental\"|name = \"sample\"|; s|ring = \"example\"|ring = \"$PWD/market\"|" \
  "$here/../../../host/appliance/example/feed.toml" >sample.toml
cat >>appliance.toml <<TOML
[books]
instruments = 100
levels = 5
[recorder]
folder = "packets"
file = "4MiB"
line = "64MiB"
[[port]]
name = "capture"
kind = "capture"
file = "$sample/capture.pcap.gz"
speed = 1
[[feed]]
file = "sample.toml"
a = "capture"
TOML

start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
has_messages() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["channels"][0]["messages"] < 2000)'; }
wait_for has_messages
# A message of the other channel, and one that is cut short: its number has no end.
python3 - <<'PYTHON'
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
text = bytearray(b"<i>x</i><script>document.title='broken'</script>")
text[-1] |= 0x80
message = bytes.fromhex("c0 85") + text
for sequence, number in ((1, b"\x81"), (2, b"\x01")):
    sender.sendto(sequence.to_bytes(4, "big") + b"\0" + message + number, ("239.30.3.1", 30003))
PYTHON
"$bin/stopbit" tail ./ring --name book --format jsonl >/dev/null &
reader=$!
wait_for '"$bin/stopbit" stat "$name" | grep -q "^overrun of book at $PWD/ring "'
# While it stands still the ring goes round.
slots() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rings"][0]["slots"])'; }
kill -STOP $reader
begin=$(slots)
for _ in $(seq 120); do
  if (($(slots) - begin > 40000)); then break; fi
  sleep 0.5
done
kill -CONT $reader
# What the page is to show: the loss of the reader, the explained error, and gaps between two points of the charts.
has_all() {
  python3 - $kHttpPort <<'PYTHON'
import json, sys, urllib.request
def ask(page):
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/{page}", timeout=10) as answer:
        return json.load(answer)
status, history, errors = ask("status.json"), ask("history.json"), ask("errors.json")
gaps = [point[3] for point in history["points"]]
is_drawn = history["gaps"] and any(before < after for before, after in zip(gaps, gaps[1:]))
is_counted = any(drop["place"] == "overrun" and drop["count"] > 0 for drop in status["drops"])
sys.exit(not (is_drawn and is_counted and errors and all(error.get("explanation") for error in errors)))
PYTHON
}
wait_for has_all

# The browser looks, drills down, and sees the appliance end and start again, which it does itself.
python3 "$here/page_test.py" "http://127.0.0.1:$kHttpPort" "$output" "$bin/stopbit" "$appliance"
wait "$appliance"
echo "screenshots: $output"
