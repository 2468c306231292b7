#!/usr/bin/env bash
# Shared memory that is full, made shorter, or full of strangers' files: the appliance says what is wrong and goes on.
#
#     memory.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "setpriv" "$@"
make_workplace memory
use_loopback
stranger=54321
mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
chmod 755 "$folder"
# Other users run it, too.
cp "$bin/stopbit" "$folder/stopbit"
as_stranger() { setpriv --reuid "$stranger" --regid "$stranger" --clear-groups "$@"; }
# copy CONDITION: a stranger's copy of the ring, into near.jsonl, until the condition holds.
copy() {
  : >near.log
  (exec setpriv --reuid "$stranger" --regid "$stranger" --clear-groups ./stopbit tail broker:broker.sock/feed) >near.jsonl 2>near.log &
  local reader=$!
  wait_for "$1"
  kill "$reader" 2>/dev/null || true
  wait "$reader" || true
}
as_stranger ./stopbit --version >/dev/null || { echo "skipped: another user cannot run what lies in $folder"; exit $kSkipped; }
write_settings --sends lo --receives lo --rate 1000 --seconds 300 --appliance "[rings]
slots = 32768
[control]
socket = \"control.sock\"
[nic]
network = \"$name\"
broker = \"broker.sock\"
entitlements = \"entitlements.toml\""
sed -i 's|^ring = .*|ring = "feed"|' feed.toml
grep -q '^ring = "feed"' feed.toml
cat >entitlements.toml <<TOML
[[entitlement]]
user = "$stranger"
feeds = ["feed"]
TOML
fill() { fallocate -l "$(df --output=avail -B1 /dev/shm | tail -1)" /dev/shm/filler; }
ask() { python3 -c 'import socket, sys
door = socket.socket(socket.AF_UNIX)
door.settimeout(60)
door.connect("control.sock")
door.sendall(sys.argv[1].encode() + b"\n")
print(door.makefile().readline().strip())' "$1"; }
lives() { kill -0 $appliance 2>/dev/null || { echo "the appliance has ended: $1"; tail -n 3 log; exit 1; }; }

# Full before it starts: it says so, and is not killed.
fill
status=0
"$bin/stopbit" run appliance.toml -q 2>full.log || status=$?
[[ $status == 3 ]] && grep -q "not enough space in /dev/shm: needs [0-9]* bytes, [0-9]* free" full.log || {
  echo "with a full /dev/shm: status $status"; cat full.log; exit 1; }
rm /dev/shm/filler

# A stranger has taken every name that could be taken, and offers a ring of his own.
as_stranger bash -c "cd /dev/shm && touch stopbit-feed stopbit-$name.counters stopbit-$name.0 feed feed.new-1"
start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
wait_for '"$bin/stopbit" stat "$name" --json | grep -q "\"messages\":[1-9][0-9][0-9]"'
ls -la "$rings" >listed
[[ $(stat -c %a "$rings") == 755 && $(stat -c %a "$rings/feed") == 644 && $(stat -c %a "$rings/$name.0") == 600 ]] || { cat listed; exit 1; }
"$bin/stopbit" tail feed >local.jsonl 2>local.log &
reader=$!
wait_for '[[ -s local.jsonl ]]'
kill "$reader"
wait "$reader" || true

# Full while it runs: what is asked for then is refused, by a client, too; what was there goes on.
fill
answer=$(ask "load cme")
[[ $answer == *"not enough space in /dev/shm"*"the previous image remains in use"* ]] || { echo "load: $answer"; exit 1; }
lives "after load"
refusals() { cat near.log log | grep -c "not enough space in /dev/shm" || true; }
for try in $(seq 3); do
  before=$(grep -c "not enough space in /dev/shm" log || true)
  copy "((\$(refusals) > $before))"
  lives "after copy $try"
  [[ ! -s near.jsonl ]] || { echo "a copy without memory"; exit 1; }
done
rm /dev/shm/filler
answer=$(ask "load cme")
[[ $answer != error* ]] || { echo "load: $answer"; exit 1; }
copy '[[ -s near.jsonl ]]'

# Forty thousand files of a stranger, where readers show themselves: the appliance answers, and takes them away.
seq 20000 | sed 's|^|/dev/shm/stopbit-feed.by-y-|' | as_stranger xargs touch
seq 20000 | sed "s|^|$rings/.readers/feed.by-y-|" | as_stranger xargs touch
ask status >status.json
grep -q '"running":true' status.json || { cat status.json; exit 1; }
wait_for '[[ -z $(ls "$rings/.readers") ]]'

# The ring's file is made shorter: its readers end with an error, the appliance goes on and says so.
"$bin/stopbit" tail feed >/dev/null 2>cut.log &
reader=$!
wait_for 'grep -q "feed$" /proc/$reader/maps'
truncate -s 4096 "$rings/feed"
status=0
wait $reader || status=$?
[[ $status == 1 ]] && grep -q "the ring's file was truncated" cut.log || { echo "reader of a short ring: $status"; cat cut.log; exit 1; }
wait_for 'grep -q "what=\"file truncated\" file=\".*feed\"" log'
truncate -s 0 "$rings/$name.counters"
wait_for 'grep -q "what=\"file truncated\" file=\".*counters\"" log'
lives "its files became shorter"
stop_appliance

# A feed with a map: a ring of events and two tables more. For each segment in turn there is not enough: the error names it.
mkdir market && cd market
cp "$here"/../../data/sample/{templates.xml,map.toml,capture.pcap.gz} .
# write_market SPEED: the appliance, which plays the capture so.
write_market() {
  "$here/settings.py" market --name "$name" --sample . --ring market --instruments 2000 --speed "$1" \
    --head $'[rings]\nslots = 32768\n'
}
# What a file needed, and what there was, by the message in the file `refused`.
lacking() { sed -n "s|.*cannot reserve memory for '$rings/\([^']*\)': not enough space in /dev/shm: needs \([0-9]*\) bytes, \([0-9]*\) free.*|\1 \2 \3|p" refused; }
available() { df --output=avail -B1 /dev/shm | tail -1; }
# leave BYTES: all others of /dev/shm are taken, when what was refused before has been given back: $whole bytes.
leave() {
  rm -f /dev/shm/filler
  wait_for '(($(available) >= whole))'
  fallocate -l "$(($(available) - $1))" /dev/shm/filler
}
# each_in_turn COMMAND...: leaves what the refused file lacked, too, until the command refuses no more; then has each file of
# the market been refused.
each_in_turn() {
  local room=0 file needs free
  whole=$(available)
  : >lacked
  until leave "$room" && "$@"; do
    read -r file needs free < <(lacking) || { echo "$*, with $room bytes: another problem"; cat refused; exit 1; }
    echo "$file" >>lacked
    room=$((room + needs - free))
  done
  rm /dev/shm/filler
  for file in market market-events market-events.{instruments,state}; do
    grep -qx "$file" lacked || { echo "$* did not lack memory for $file"; sort lacked | uniq -c; exit 1; }
  done
}
runs() {
  local status=0
  "$bin/stopbit" run appliance.toml -q 2>refused || status=$?
  [[ $status == 0 || $status == 3 ]] || { echo "status $status"; cat refused; exit 1; }
  return $status
}
write_market 0
each_in_turn runs
# While it runs: the names stay those of the image that runs, with its readers, and its events go on.
write_market 0.1  # the capture must not end meanwhile, on a busy machine either
start_appliance
events() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["markets"][0]["counts"]["events"])'; }
names() { stat -c '%n %i' "$rings"/market{,-events{,.instruments,.state}}; }
wait_for '(($(events) > 0))'
names >names.before
loads() {
  ask "load sample" >refused && [[ -s refused ]] || { echo "no answer"; exit 1; }
  if grep -q '^error' refused; then
    grep -q "the previous image remains in use" refused || { cat refused; exit 1; }
    names | diff names.before - || { echo "a refused image has taken a name"; cat refused; exit 1; }
    lives "after load"
    local before
    before=$(events)
    wait_for "((\$(events) > $before))"
    "$bin/stopbit" states market-events >states || { cat states; exit 1; }
    return 1
  fi
}
each_in_turn loads
names >names.after
! grep -qxFf names.before names.after || { echo "the new image has old files"; exit 1; }
lives "with a new image"
stop_appliance
echo "well"
