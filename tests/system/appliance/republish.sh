#!/usr/bin/env bash
# `publish` at the control socket of a confined appliance: it reads [[publish]] again. Subscribers that may still have
# their ring have every record of it, those that may not are told why, and a file that is wrong or wants what cannot
# change is refused as a whole.
#
#     republish.sh BIN_FOLDER SAMPLE_FOLDER        status 77: no namespaces here, or no libfabric
set -euo pipefail
bin=$(readlink -f "$1")
sample=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace republish

make_two_hosts
readonly at=10.91.0.1:7707

echo "this is a token of the test" >token
# publish_at LISTEN: the settings, with the [[publish]] that stand in the input.
publish_at() {
  write_publisher --sample "$sample" --speed 0.2 --head '[control]
socket = "control.sock"' --nic "listen = \"$1\"" --publish "$(cat)"
}
# answer: what the appliance says to `publish`.
answer() {
  python3 - <<'PYTHON'
import socket
with socket.socket(socket.AF_UNIX) as door:
    door.settimeout(30)
    door.connect("control.sock")
    door.sendall(b"publish\n")
    print(door.makefile().readline().rstrip())
PYTHON
}
# fails NAME PROCESS WORDS: it ends with status 1, and says them.
fails() {
  local status=0
  wait_for "! kill -0 $2 2>/dev/null"
  wait "$2" || status=$?
  [[ $status == 1 ]] && grep -q "$3" "$1.log" || { echo "$1: status $status"; cat "$1.log" log; exit 1; }
}

publish_at "$at" <<'TOML'
[[publish]]
ring = "cme"
token_file = "token"
[[publish]]
ring = "cme"
as = "extra"
TOML
start_publisher
"${in_left[@]}" "$bin/stopbit" tail "fabric://$at/cme" --wait --from-start --token-file token >left.jsonl 2>left.log &
left_reader=$!
"$bin/stopbit" tail "shm://$name/cme" --from-start --token-file token >near.jsonl 2>near.log &
near_reader=$!
"${in_right[@]}" "$bin/stopbit" tail "fabric://$at/cme" --wait --token-file token >right.jsonl 2>right.log &
right_reader=$!
"$bin/stopbit" tail "shm://$name/extra" >extra.jsonl 2>extra.log &
extra_reader=$!
wait_for '[[ -s left.jsonl && -s near.jsonl && -s right.jsonl && -s extra.jsonl ]]'

# Nothing of a file that is wrong somewhere, or that says what cannot change.
publish_at "$at" <<'TOML'
[[publish]]
ring = "cme"
as = "new"
allow = ["10.91.0.0/33"]
TOML
said=$(answer)
[[ $said == "error: nothing changed: "*appliance.toml:*"10.91.0.0/33"* ]] || { echo "a bad file: $said"; exit 1; }
publish_at 10.91.0.1:7708 <<<''
said=$(answer)
[[ $said == "error: nothing changed: 'listen' of [nic] cannot change"* ]] || { echo "another address: $said"; exit 1; }
# Each goes on: more records than can have been on their way.
lines_of() { wc -l <"$1.jsonl"; }
for process in left near right extra; do
  had=$(lines_of "$process")
  wait_for "((\$(lines_of $process) > $had + 50))"
done

# The right host and `extra` are out, `new` is in.
publish_at "$at" <<'TOML'
[[publish]]
ring = "cme"
token_file = "token"
allow = ["10.91.0.0/24"]
[[publish]]
ring = "cme"
as = "new"
bytes_per_second = "1MiB"
TOML
said=$(answer)
[[ $said == "2 rings published: cme, new" ]] || { echo "$said"; exit 1; }
fails right "$right_reader" "the subscriber's address is not allowed to read the ring"
fails extra "$extra_reader" "no such ring for this token"
grep -q 'what="publish" answer="2 rings published: cme, new"' log || { cat log; exit 1; }
wait_for 'grep -q "at 10.92.0.2 is no longer subscribed to .cme.: the subscriber.s address is not allowed" log'
"${in_right[@]}" "$bin/stopbit" tail "fabric://$at/new" --wait >new.jsonl 2>new.log &
new_reader=$!
wait_for '[[ -s new.jsonl ]]'
at_change=$(wc -l <left.jsonl)
wait_for '(($(wc -l <left.jsonl) > at_change))'
# Counters are a tenth of a second old.
wait_for '[[ $("$bin/stopbit" stat "$name" | grep -Ec "^(fabric 10|shm node).* running") == 3 ]]'

stop_appliance
for process in left near new; do
  reader=${process}_reader
  wait_for "! kill -0 ${!reader} 2>/dev/null"
  wait "${!reader}" || { echo "$process failed"; cat "$process.log"; exit 1; }
done
"$bin/stopbit" tail ./cme >local.jsonl
for process in left near; do
  cmp local.jsonl "$process.jsonl" || { echo "$process has other records"; exit 1; }
done
echo "$(wc -l <local.jsonl) records, $at_change of them before the change"
