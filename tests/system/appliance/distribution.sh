#!/usr/bin/env bash
# A confined appliance replays a capture and publishes its ring: to processes of this host, of which one has it written by
# the appliance, near, and one sent, far; and over TCP to two other network namespaces, of which one joins late and one is
# killed with -9 and comes back, while others talk rubbish, are of another version, or stop, and bits are turned on the
# ways of two more, and the process in which the appliance runs libfabric dies. Each has the records that the appliance's
# own ring has, word for word; but for who is behind the worst of the ways, where nobody is promised anything.
#
#     distribution.sh BIN_FOLDER SLOTS_PROGRAM SAMPLE_FOLDER        status 77: no namespaces here, or no libfabric
#
# STOPBIT_CORPUS: the capture of a real exchange there; else the bundled one.
set -euo pipefail
bin=$(readlink -f "$1")
slots=$(readlink -f "$2")
sample=$(readlink -f "$3")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace distribution

make_two_hosts
readonly at=10.91.0.1:7707

how=(--sample "$sample" --speed 1.3)
templates=$sample/templates.xml capture=$sample/capture.pcap.gz
if [[ -n ${STOPBIT_CORPUS:-} && -r $STOPBIT_CORPUS/cme-mdp-2012/capture.pcap ]]; then
  templates=$STOPBIT_CORPUS/cme-mdp-2012/templates.xml capture=$STOPBIT_CORPUS/cme-mdp-2012/capture.pcap
  how=(--templates "$templates" --capture "$capture" --groups 'a = { group = "224.0.31.1", port = 10001 }' --speed 0.04)
fi
# A feed that says nothing: so the appliance goes on behind the end of the capture, until it is told to stop.
cat >quiet.toml <<TOML
name = "quiet"
[[image]]
name = "exchange"
templates = ["$templates"]
[[channel]]
number = 0
name = "quiet"
framing = "cme"
ring = "$folder/quiet"
a = { group = "239.77.77.77", port = 7777 }
TOML
echo "this is a token of the test" >token
echo "this is no token of the test" >wrong
write_publisher "${how[@]}" --head '[rings]
slots = 131072' --nic "listen = \"$at\"" --publish '[[publish]]
ring = "cme"
token_file = "token"
[[publish]]
ring = "cme"
as = "open"
to = ["shm"]' --appliance '[[port]]
name = "socket"
interface = "lo"
[[feed]]
file = "quiet.toml"
a = "socket"'

start_publisher
readonly with_token=(--from-start --token-file token)

# The number of packets of a capture, and what `stopbit stat` says: a Python expression of `status`.
packets_of() {
  python3 - "$1" <<'PYTHON'
import gzip, struct, sys
with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb") as file:
    data = file.read()
order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
at, count = 24, 0
while at < len(data):
    at, count = at + 16 + struct.unpack_from(order + "I", data, at + 8)[0], count + 1
print(count)
PYTHON
}
stat() { "$bin/stopbit" stat "$name" --json | python3 -c "import json, sys; status = json.load(sys.stdin); print($1)"; }
subscribers() { stat "' '.join(str(len(p['subscribers'])) for p in status['nic']['publishers'])"; }
refused() { stat "status['nic']['publishers'][1]['refused']"; }
# Not for ever: a process that does not end is a failure.
ends() {
  for _ in $(seq 2000); do
    kill -0 "$2" 2>/dev/null || return 0
    sleep 0.1
  done
  echo "$1 does not end"
  tail -n 5 ./*.log log
  exit 1
}

"$bin/stopbit" subscribe "shm://$name/cme" --far --ring "$folder/shm" --once "${with_token[@]}" 2>shm.log &
shm=$!
"$bin/stopbit" tail "shm://$name/cme" "${with_token[@]}" >printed.jsonl 2>printed.log &
printed=$!
"${in_left[@]}" "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/left" --once "${with_token[@]}" 2>left.log &
left_ring=$!
"${in_right[@]}" "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/right" --once "${with_token[@]}" 2>killed.log &
killed=$!
"${in_right[@]}" "$bin/stopbit" tail "fabric://$at/cme" --wait "${with_token[@]}" >stopped.jsonl 2>stopped.log &
stopped=$!
have_records() { stat "all(s['records'] > 0 for p in status['nic']['publishers'] for s in p['subscribers'])"; }
# Counters are a tenth of a second old.
wait_for '[[ -s printed.jsonl && -s stopped.jsonl && -e left && -e right && -e shm && $(subscribers) == "2 3" ]]'
wait_for '[[ $(have_records) == True ]]'
"$bin/stopbit" stat "$name" --json >middle.json
"$bin/stopbit" stat "$name" >middle.txt
"$bin/stopbit" top "$name" --once >middle.top

# Who takes nothing any more holds up nobody.
kill -STOP "$stopped"
# A stranger at the port who says nothing, one who talks rubbish, one of another version, one who has no token: nobody
# notices.
"${in_left[@]}" python3 - "${at%:*}" "${at#*:}" <<'PYTHON' &
import os, socket, sys, time
silent = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range(8)]
for _ in range(40):
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as rubbish:
        try:
            rubbish.sendall(os.urandom(5000))
        except OSError:
            pass
    time.sleep(0.05)
time.sleep(300)
PYTHON
readonly by_version=10.91.0.2:7708
"${in_left[@]}" python3 "$here/bad_proxy.py" version "$by_version" "$at" versions &
wait_for '[[ -s versions ]]'
status=0
"${in_left[@]}" "$bin/stopbit" tail "fabric://$by_version/cme" "${with_token[@]}" >version.jsonl 2>version.log || status=$?
[[ $status == 3 && ! -s version.jsonl ]] && grep -q "another protocol version" version.log || {
  echo "a peer of another version: status $status"; cat version.log; exit 1; }
(($(cat versions) > 0)) || { echo "no version was changed"; exit 1; }
status=0
"${in_left[@]}" "$bin/stopbit" tail "fabric://$at/cme" --token-file wrong >wrong.jsonl 2>wrong.log || status=$?
[[ $status == 1 && ! -s wrong.jsonl ]] || { echo "a wrong token: status $status"; cat wrong.log; exit 1; }
grep -q "no such ring for this token" wrong.log || { cat wrong.log; exit 1; }

wait_for '(($(refused) > 0))'

# Two ways on which bits are turned, behind the checksums of TCP.
bad=()
for share in 0.02 0.3; do
  by=10.91.0.2:$((7709 + ${#share}))
  "${in_left[@]}" python3 "$here/bad_proxy.py" "bits=$share" "$by" "$at" "bits-$share" &
  bad+=("$!")
  wait_for '[[ -s bits-$share ]]'
  "${in_left[@]}" "$bin/stopbit" subscribe "fabric://$by/cme" --ring "$folder/bad-$share" "${with_token[@]}" 2>"bad-$share.log" &
  bad+=("$!")
done
# libfabric dies in its own process, there is another one, and that is all.
kill_server() { pkill -KILL -P "$(pgrep -P "$appliance" -x stopbit-fabric)"; }
wait_for kill_server  # the turned bits may have killed it just now
wait_for 'grep -q "the libfabric process ended: it died of SIGKILL" log'

kill -9 "$killed"
wait "$killed" 2>/dev/null || true
cp right before-kill
"${in_right[@]}" "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/right" --once "${with_token[@]}" 2>right.log &
right_ring=$!
"${in_left[@]}" "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/late" --once "${with_token[@]}" 2>late.log &
late=$!
"$bin/stopbit" tail "shm://$name/open" --from-start --filter channel=77 >none.jsonl 2>none.log &
none=$!
wait_for '[[ -e late && $(subscribers) == "3 "[4-8] ]]'
at_restart=$(stat "status['rings'][0]['records']")
# The worst of the ways has shown what it can do.
wait_for '(($(cat bits-0.3) > 100))'
kill -9 "${bad[@]:2}" 2>/dev/null || true

# The whole capture, at everybody who is to have it.
packets=$(packets_of "$capture")
wait_for '[[ $(stat "status[\"ports\"][0][\"frames\"]") == "$packets" ]]'
# The counters of ports are written before those of channels; when all have been written again, no packet is held for a
# gap.
turn() { stat "status['agents'][0]['last_turn_ns']"; }
held() { stat "sum(c['packets']['held'] for c in status['channels'])"; }
at_end=$(turn)
wait_for '[[ $(turn) != "$at_end" && $(held) == 0 ]]'
records=$(stat "status['rings'][0]['records']")
((at_restart < records)) || echo "note: the capture had ended before the last subscriber came"
# What is there now: nobody waits for the ring's end.
records_of() { "$slots" "$1" 0 2>/dev/null | wc -l; }
wait_for '[[ $(records_of ./bad-0.02) == "$records" ]]'
for share in 0.02 0.3; do
  (($(cat "bits-$share") > 0)) || { echo "no bit was turned on the way of $share"; exit 1; }
done
# Whoever waits for the end shall hear it: those who could keep it from them go first, and what they have done is mended.
kill -9 "${bad[@]}" 2>/dev/null || true
for ring in shm left right late; do wait_for "[[ \$(records_of ./$ring) == $records ]]"; done
# A session that has just broken still counts at the publisher: the subscribers have to be in theirs, too.
live() { tail -qn 1 left.log right.log late.log | grep -c ': live: '; }
wait_for '[[ $(subscribers) == "3 3" && $(live) == 3 ]]'
echo "$(cat bits-0.02) and $(cat bits-0.3) bits turned, $(grep -c "the libfabric process ended" log) processes of libfabric replaced by the appliance"
kill -TERM "$appliance"
ends "the appliance" "$appliance"
wait "$appliance" || { echo "the appliance failed"; cat log; exit 1; }
for process in shm printed left_ring right_ring late none; do
  ends "$process" "${!process}"
  status=0
  wait "${!process}" || status=$?
  ((status == 0)) || { echo "$process: status $status"; tail -n 5 ./*.log log; exit 1; }
done

"$bin/stopbit" tail ./cme >local.jsonl
"$slots" ./cme >local.slots
[[ $(wc -l <local.slots) == "$records" ]] || { echo "$(wc -l <local.slots) records here, $records counted"; exit 1; }
for ring in shm left right late bad-0.02; do
  "$slots" "./$ring" >"$ring.slots" || [[ $ring == bad-* ]]  # whoever wrote it has not heard the end
  cmp local.slots "$ring.slots" || { echo "the records of '$ring' are others"; exit 1; }
  [[ $ring == bad-* ]] || grep -Eq "$ring: $records records, [0-9]+ of them fetched, 0 lost" "$ring.log" || {
    echo "'$ring' has counted other records than $records"; cat "$ring.log"; exit 1; }
done
cmp local.jsonl printed.jsonl || { echo "what was printed is something else"; exit 1; }
# Whoever was killed has some of it, and nothing else.
"$bin/stopbit" tail ./before-kill >before-kill.jsonl 2>/dev/null || true
cmp <(head -n "$(wc -l <before-kill.jsonl)" local.jsonl) before-kill.jsonl || { echo "what was killed has other records"; exit 1; }
(($(wc -l <before-kill.jsonl) > 0)) || { echo "what was killed had nothing yet"; exit 1; }
python3 - <<'PYTHON'
import json
middle = json.load(open("middle.json"))["nic"]["publishers"]
assert [p["carrier"] for p in middle] == ["shm", "fabric"], middle
shm, fabric = middle
assert len(shm["subscribers"]) == 2 and len(fabric["subscribers"]) == 3, middle
for subscriber in shm["subscribers"] + fabric["subscribers"]:
    assert subscriber["ring"] == "cme" and subscriber["records"] > 0, subscriber
# Without a fitting filter there are the events alone.
events = [line for line in open("local.jsonl") if "event" in json.loads(line)]
assert open("none.jsonl").readlines() == events, len(events)
print(sum(1 for _ in open("local.jsonl")), "records, each in five rings of subscribers;", len(events), "events")
PYTHON
grep -q "^Subscribers" middle.txt && grep -q "^published: 5 subscribers" middle.top || { cat middle.txt middle.top; exit 1; }
grep -q "near, as 'tail-$printed'" log || { echo "no ring was near"; cat log; exit 1; }
if [[ -e $rings/tail-$printed ]]; then echo "a near ring stays behind"; exit 1; fi
grep -q 'what="nic" text="fabric: ' log || { echo "the log tells of no subscriber"; cat log; exit 1; }
