#!/usr/bin/env bash
# A confined appliance sends its ring on two multicast lines, each through a wire of its own to another network namespace.
# There an appliance takes them as a feed, by a feed.toml with the framing preset `stopbit`, and a program that knows only
# doc/multicast.md takes them apart: what both have are the slots of the appliance's own ring, word for word. Each line
# drops a part of the packets, and sometimes both drop the same one: that, and only that, is a gap, and its size is the
# number of packets that both lacked. One line is stopped for a while. Of five subscribers one is late and one is killed;
# the others have each record. The publisher is killed and started again: all readers follow it to the next epoch.
#
#     multicast.sh BIN_FOLDER SLOTS_PROGRAM SAMPLE_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
slots=$(readlink -f "$2")
sample=$(readlink -f "$3")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace multicast
: >log
fails() { echo "$1"; shift; cat "$@" log; exit 1; }

ip link set lo up
make_namespace
in_there=(nsenter -t "$there" -n)
lay_wire out-a in-a 10.95.0
lay_wire out-b in-b 10.96.0
"${in_there[@]}" ip link set lo up
"${in_there[@]}" ip link set lo multicast on

# A ring that was published as fast as a capture plays; the readers must have joined before.
write_appliance() {
  write_publisher --sample "$sample" --speed 2 --publish '' --appliance '[[multicast]]
ring = "cme"
a = "239.255.7.1:7001"
b = "239.255.7.2:7002"
interface_a = "out-a"
interface_b = "out-b"
ttl = 3
dscp = 46
heartbeat = "50ms"
buffer = "1MiB"
refill = "10.95.0.1:7003"
refill_clients_per_address = 8'
}
write_appliance
"$bin/stopbit" run appliance.toml --check >check.txt
grep -q "^multicast cme  *A 239.255.7.1:7001 through out-a, .*; B 239.255.7.2:7002 through out-b, .*, not encrypted$" check.txt ||
  fails "what --check says" check.txt

# The reader of the page: its output is what the packets have, and what was missing.
"${in_there[@]}" python3 "$here/multicast_reader.py" slots slots 239.255.7.1:7001:10.95.0.2 239.255.7.2:7002:10.96.0.2 \
  --drop-a 0.05 --drop-b 0.05 --seed 7 --stop-b 0.01 --until "$folder/enough" >reader.json 2>reader.log &
reader=$!
wait_for '[[ -e slots ]]'

# Our own readers, with refill, in a bad network that drops packets of each line and stops one for 10 ms now and then.
"${in_there[@]}" python3 "$here/multicast_reader.py" forward 239.255.7.1:7001:10.95.0.2 239.255.7.2:7002:10.96.0.2 \
  --to 239.255.8.1:7001 239.255.8.2:7002 --drop-a 0.05 --drop-b 0.05 --stop-b 0.01 --ready "$folder/forwards" 2>forward.log &
wait_for '[[ -e forwards ]]'
readonly ours=multicast://239.255.8.1:7001,239.255.8.2:7002
readonly how=(--interface-a lo --refill 10.95.0.1:7003)
subscribers=()
for name_of in early east west; do
  "${in_there[@]}" "$bin/stopbit" subscribe "$ours" --ring "$folder/$name_of" --once "${how[@]}" 2>$name_of.log &
  subscribers+=($!)
done
"${in_there[@]}" "$bin/stopbit" subscribe "$ours" --ring "$folder/doomed" "${how[@]}" 2>doomed.log &
doomed=$!

# The appliance that takes the lines as a feed.
mkdir second
cat >second/stopbit-packet.xml <<'XML'
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="StopbitPacket" id="1"><byteVector name="Messages" id="1"/></template>
</templates>
XML
cat >second/feed.toml <<TOML
name = "republished"
[[image]]
name = "stopbit"
templates = ["stopbit-packet.xml"]
[defaults]
framing = "stopbit"
ring = "$folder/second/ring"
switch_silence = "20ms"
[[channel]]
name = "cme"
a = { group = "239.255.7.1", port = 7001 }
b = { group = "239.255.7.2", port = 7002 }
TOML
cat >second/appliance.toml <<TOML
name = "$name.second"
state = "$folder/second/state"
[[agent]]
name = "md"
[[port]]
name = "a"
interface = "in-a"
[[port]]
name = "b"
interface = "in-b"
[[feed]]
file = "feed.toml"
a = "a"
b = "b"
TOML
"${in_there[@]}" "$bin/stopbit" run second/appliance.toml -q 2>second.log &
second=$!
wait_for 'grep -q "what=\"started\"" second.log'

start_appliance
if grep 'what="not confined"' log; then echo "the appliance was not confined"; exit 1; fi
stat() { "$bin/stopbit" stat "$1" --json | python3 -c "import json, sys; status = json.load(sys.stdin); print($2)"; }
wait_for '(($(stat "$name" "status[\"multicasts\"][0][\"records\"]") > 500))'
kill -9 "$appliance"
wait "$appliance" 2>/dev/null || true
cp cme first-ring
start_appliance
wait_for '(($(stat "$name" "status[\"multicasts\"][0][\"records\"]") > 500))'
# One that is late, and still has the ring from its beginning.
"${in_there[@]}" "$bin/stopbit" subscribe "$ours" --ring "$folder/late" --once --from-start "${how[@]}" 2>late.log &
late=$!
# One is killed while it reads; the others are as complete as without it.
wait_for '[[ -e doomed ]]'
kill -9 "$doomed"
wait "$doomed" 2>/dev/null || true
# Strangers at the refill service change nothing.
"${in_there[@]}" python3 -c 'import os, socket
for size in (1, 32, 4096):
    with socket.create_connection(("10.95.0.1", 7003)) as stranger:
        stranger.sendall(os.urandom(size))'
"$bin/stopbit" stat "$name" >stat.txt
grep -q "^Rings on multicast lines$" stat.txt || fails "stat has no table" stat.txt
# The second life of the appliance sends the whole capture, and says that it has ended.
wait "$appliance" || fails "the appliance ended with $?"
touch enough
wait "$reader" || fails "the reader of the page" reader.log reader.json

for subscriber in "${subscribers[@]}"; do
  wait "$subscriber" || fails "a reader with refill: $?" early.log east.log west.log
done
wait "$late" || fails "the late reader: $?" late.log
# Word for word: the ring has ended, so all of it went out, but for what both lines lacked.
"$slots" ./cme >cme.slots
python3 "$here/multicast_reader.py" compare slots cme.slots reader.json || fails "the slots differ" reader.json
for copy in early east west late; do
  "$slots" ./$copy >$copy.slots
  cmp $copy.slots cme.slots || fails "the records of '$copy' are not those of the ring" $copy.log
done
grep -q " [1-9][0-9]* refilled" early.log || fails "nothing was refilled" early.log
# The other appliance saw two runs of numbers, and the second without a gap.
wait_for '(($(stat "$name.second" "status[\"channels\"][0][\"epoch\"]") == 1))'
[[ $(stat "$name.second" "status['channels'][0]['numbers']['lost']") == 0 ]] || fails "numbers are lost" second.log
[[ $(stat "$name.second" "status['channels'][0]['decode_errors']") == 0 ]] || fails "packets do not decode" second.log
kill -TERM "$second"
wait "$second"
