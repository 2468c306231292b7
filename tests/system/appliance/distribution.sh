#!/usr/bin/env bash
# A confined appliance replays a capture and publishes its ring: to processes of this host, of which one has it written
# by the appliance, near, and one sent, far; and over TCP to two other network namespaces, of which one joins late and one is killed with -9 and comes back. Each has the
# records that the appliance's own ring has, word for word.
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
network=$name

# The appliance is here; `left` and `right` are two other hosts.
ip link set lo up
for side in left right; do
  unshare --net sleep 600 &
  there=$!
  children+=("$there")
  sleep 0.3
  nsenter -t "$there" -n ip link set lo up
  lay_wire "to-$side" wire "10.9$((${#children[@]})).0"
  declare "$side=$there"
done
# libfabric listens at one address: the right host finds it behind its own wire.
readonly at=10.91.0.1:7707
nsenter -t "$right" -n ip route add 10.91.0.1 via 10.92.0.1 dev wire
in_left() { nsenter -t "$left" -n "$@"; }
in_right() { nsenter -t "$right" -n "$@"; }

capture=$sample/capture.pcap.gz templates=$sample/templates.xml
speed=1
groups='a = { group = "239.20.1.1", port = 20001 }
b = { group = "239.20.2.1", port = 20002 }'
if [[ -n ${STOPBIT_CORPUS:-} && -r $STOPBIT_CORPUS/cme-mdp-2012/capture.pcap ]]; then
  capture=$STOPBIT_CORPUS/cme-mdp-2012/capture.pcap templates=$STOPBIT_CORPUS/cme-mdp-2012/templates.xml
  groups='a = { group = "224.0.31.1", port = 10001 }'
  speed=0.03
fi
cat >feed.toml <<TOML
name = "replayed"
[[image]]
name = "exchange"
templates = ["$templates"]
[[channel]]
number = 0
name = "incremental"
framing = "cme"
ring = "$folder/cme"
window = { packets = 1024, time = "100ms" }
$groups
TOML
echo "this is a token of the test" >token
echo "this is no token of the test" >wrong
cat >appliance.toml <<TOML
name = "$name"
state = "state"
[rings]
slots = 131072
[nic]
network = "$network"
listen = "$at"
[[publish]]
ring = "cme"
token_file = "token"
[[publish]]
ring = "cme"
as = "open"
to = ["shm"]
[[agent]]
name = "md"
[[port]]
name = "capture"
kind = "capture"
file = "$capture"
speed = $speed
[[feed]]
file = "feed.toml"
a = "capture"
TOML

start_appliance || { grep -q "libfabric" log && { echo "skipped: no libfabric"; exit $kSkipped; }; exit 1; }
if grep 'what="not confined"' log; then echo "the appliance was not confined"; exit 1; fi
readonly with_token=(--from-start --token-file token)

"$bin/stopbit" tail "shm://$network/cme" "${with_token[@]}" >shm.jsonl 2>shm.log &
shm=$!
"$bin/stopbit" tail "shm://$network/cme" "${with_token[@]}" --far >far.jsonl 2>far.log &
far=$!
in_left "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/left" --once "${with_token[@]}" 2>left.log &
left_ring=$!
in_right "$bin/stopbit" tail "fabric://$at/cme" "${with_token[@]}" >killed.jsonl 2>killed.log &
killed=$!
in_right "$bin/stopbit" tail "fabric://$at/cme" "${with_token[@]}" >stopped.jsonl 2>stopped.log &
stopped=$!
children+=("$shm" "$far" "$left_ring" "$killed" "$stopped")
wait_for '[[ -s shm.jsonl && -s far.jsonl && -s killed.jsonl && -s stopped.jsonl && -e left ]]'
sleep 0.5  # counters are a tenth of a second old
"$bin/stopbit" stat "$name" --json >middle.json
"$bin/stopbit" stat "$name" >middle.txt
"$bin/stopbit" top "$name" --once >middle.top

# Who takes nothing any more holds up nobody.
kill -STOP "$stopped"
# A stranger at the port who says nothing, one who talks rubbish, one who has no token: nobody notices.
in_left timeout 60 python3 - "${at%:*}" "${at#*:}" <<'PYTHON' &
import os, socket, sys, time
silent = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range(8)]
for _ in range(40):
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as rubbish:
        try:
            rubbish.sendall(os.urandom(5000))
        except OSError:
            pass
    time.sleep(0.05)
PYTHON
strangers=$!
children+=("$strangers")
# shellcheck disable=SC2329  # wait_for calls it
fabric_has_refused() {
  python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["nic"]["publishers"][1]["refused"] == 0)'
}
status=0
in_left "$bin/stopbit" tail "fabric://$at/cme" --token-file wrong >wrong.jsonl 2>wrong.log || status=$?
[[ $status == 1 && ! -s wrong.jsonl ]] || { echo "a wrong token: status $status"; cat wrong.log; exit 1; }
grep -q "there is no such ring for this token" wrong.log || { cat wrong.log; exit 1; }

wait_for '"$bin/stopbit" stat "$name" --json | fabric_has_refused'
kill -9 "$killed"
wait "$killed" 2>/dev/null || true
in_right "$bin/stopbit" subscribe "fabric://$at/cme" --ring "$folder/right" --once "${with_token[@]}" 2>right.log &
right_ring=$!
in_left "$bin/stopbit" tail "fabric://$at/cme" "${with_token[@]}" >late.jsonl 2>late.log &
late=$!
"$bin/stopbit" tail "shm://$network/open" --from-start --filter channel=77 >none.jsonl 2>none.log &
none=$!
children+=("$right_ring" "$late" "$none")

wait "$appliance" || { echo "the appliance failed"; cat log; exit 1; }
for process in shm far left_ring right_ring late none; do
  # Not for ever: a subscriber that does not end is a failure.
  for _ in $(seq 300); do
    kill -0 "${!process}" 2>/dev/null || break
    sleep 0.2
  done
  kill -0 "${!process}" 2>/dev/null && { echo "$process does not end"; tail -n 5 ./*.log log; exit 1; }
  status=0
  wait "${!process}" || status=$?
  ((status == 0)) || { echo "$process: status $status"; tail -n 5 ./*.log log; exit 1; }
done

"$bin/stopbit" tail ./cme >local.jsonl
"$slots" ./cme >local.slots
for ring in left right; do
  "$slots" "./$ring" >"$ring.slots"
  cmp local.slots "$ring.slots" || { echo "the records of '$ring' are others"; exit 1; }
done
for reader in shm far late; do
  cmp local.jsonl "$reader.jsonl" || { echo "the records of '$reader' are others"; exit 1; }
done
cmp <(head -n "$(($(wc -l <killed.jsonl) - 1))" killed.jsonl) \
  <(head -n "$(($(wc -l <killed.jsonl) - 1))" local.jsonl) || { echo "what was killed had other records"; exit 1; }
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
print(sum(1 for _ in open("local.jsonl")), "records, each at six subscribers;", len(events), "events")
PYTHON
grep -q "^Subscribers" middle.txt && grep -q "^published: 5 subscribers" middle.top || { cat middle.txt middle.top; exit 1; }
grep -q "near, as 'tail-$shm'" log || { echo "no ring was near"; cat log; exit 1; }
ls /dev/shm/stopbit-tail-"$shm" 2>/dev/null && { echo "a near ring stays behind"; exit 1; }
grep -q 'what="nic" text="fabric: ' log || { echo "the log tells of no subscriber"; cat log; exit 1; }
