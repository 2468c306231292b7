#!/usr/bin/env bash
# Subscribers of this host who want all of a published ring (--lossless), near and far: when what they print is taken by
# nobody, the appliance waits for them, and each has printed every record in the end, word for word, also when the
# appliance stood still meanwhile. One that is killed while it is waited for holds up nobody, and one that is far behind
# when the appliance ends fails.
#
#     lossless.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace lossless
ip link set lo up

# Seven minutes, of which the ring has room for some seconds: they end long after the test, on a busy machine as well.
write_settings --rate 1500 --seconds 400 --sends lo --receives lo
"$bin/stopbit" simulate sim.toml -o day.pcap -q
write_publisher --capture "$folder/day.pcap" --templates "$folder/made/cme.xml" \
  --groups 'a = { group = "239.30.1.1", port = 30001 }' --head '[rings]
slots = 32768' --publish '[[publish]]
ring = "cme"
to = ["shm"]
lossless = true
detach_after = "60s"'
start_appliance

# What `stopbit stat` says: a Python expression of `status`.
stat() { "$bin/stopbit" stat "$name" --json | python3 -c "import json, sys; status = json.load(sys.stdin); print($1)"; }
frames() { stat "status['ports'][0]['frames']"; }
waiting() { stat "sum(s['state'] == 'waiting' for p in status['nic']['publishers'] for s in p['subscribers'])"; }
lost() { stat "sum(s['lost'] for p in status['nic']['publishers'] for s in p['subscribers'])"; }
subscribers() { stat "sum(len(p['subscribers']) for p in status['nic']['publishers'])"; }
turns() { stat "status['agents'][0]['turns']"; }
heartbeat() { stat "status['heartbeat_ns']"; }
# One subscriber is waited for, and so the capture is: the agent's turn does not end while the housekeeper goes on.
stands_still() {
  [[ $(waiting) == 1 ]] || return 1
  local turn beat
  turn=$(turns)
  beat=$(heartbeat)
  wait_for "[[ \$(heartbeat) != $beat ]]"
  [[ $(waiting) == 1 && $(turns) == "$turn" ]]
}
goes_on() {
  local before
  before=$(frames)
  wait_for "((\$(frames) > $before))"
}

"$bin/stopbit" tail ./cme >local.jsonl 2>local.log &
local_reader=$!
# Each into a pipe, so that who reads that can stop.
declare -A reader taker
for way in near far dying; do
  mkfifo "$way.pipe"
  how=(--from-start)
  # What is sent begins with what is published next: what was before, nobody keeps for it.
  [[ $way != far ]] || how=(--far)
  "$bin/stopbit" tail "shm://$name/cme" --lossless "${how[@]}" >"$way.pipe" 2>"$way.log" &
  reader[$way]=$!
  cat <"$way.pipe" >"$way.jsonl" &
  taker[$way]=$!
done
wait_for '[[ -s local.jsonl && -s near.jsonl && -s far.jsonl && -s dying.jsonl ]]'

for way in near far; do
  kill -STOP "${taker[$way]}"
  wait_for stands_still
  kill -0 "${reader[$way]}"
  kill -CONT "${taker[$way]}"
  goes_on
done
# The appliance stands still until both have lost sight of it: they go on where they were.
kill -STOP "$appliance"
wait_for 'grep -q "does not respond" near.log && grep -q "does not respond" far.log'
kill -CONT "$appliance"
goes_on
kill -STOP "${taker[dying]}"
wait_for stands_still
kill -9 "${reader[dying]}" "${taker[dying]}"
goes_on
wait_for '[[ $(subscribers) == 2 ]]'
[[ $(lost) == 0 ]] || { "$bin/stopbit" stat "$name"; exit 1; }

# One that is far behind when the appliance ends is told so.
mkfifo late.pipe
"$bin/stopbit" tail "shm://$name/cme" --lossless --far >late.pipe 2>late.log &
late=$!
cat <late.pipe >late.jsonl &
late_taker=$!
wait_for '[[ -s late.jsonl ]]'
kill -STOP "$late_taker"
wait_for stands_still
stop_appliance
kill -CONT "$late_taker"
status=0
wait "$late" || status=$?
((status == 1)) || { echo "the late reader ended with $status"; cat late.log; exit 1; }
for process in "$local_reader" "${reader[near]}" "${reader[far]}" "${taker[near]}" "${taker[far]}"; do
  wait_for "! kill -0 $process 2>/dev/null"
  wait "$process" || { echo "a reader failed"; tail -n 5 ./*.log; exit 1; }
done
# Each began when it came; from there on nothing is missing.
for way in near far; do
  common=$(cat local.jsonl "$way.jsonl" | wc -l)
  for file in local.jsonl "$way.jsonl"; do (($(wc -l <"$file") >= common)) || common=$(wc -l <"$file"); done
  ((common > 5000)) || { echo "$way: $common records"; exit 1; }
  cmp <(tail -n "$common" local.jsonl) <(tail -n "$common" "$way.jsonl") || { echo "$way has other records"; exit 1; }
  echo "$way: $common records"
done
