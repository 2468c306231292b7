#!/usr/bin/env bash
# A confined appliance publishes a ring over UDP, encrypted, to two other network namespaces. One subscriber is stopped
# for some seconds, one is killed and comes again, one comes late, and datagrams of one are lost, doubled and overtaken:
# each has the records of the appliance's own ring, word for word, and none twice. A wrong token, no token and plain text
# are refused by name; strangers at the port, and datagrams sent once more, are counted and change nothing. Whoever listens
# on the wire sees neither a token nor a word of a record, as he does without encryption.
#
#     udp_rings.sh BIN_FOLDER SLOTS_PROGRAM SAMPLE_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
slots=$(readlink -f "$2")
sample=$(readlink -f "$3")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace udprings

make_two_hosts
readonly at=10.91.0.1:7707 wire=$here/udp_wire.py
echo "this is a token of the network" >network
echo "this is a token of the ring" >token
echo "this is no token of the test" >wrong
chmod 600 network token wrong

# publish ENCRYPTION_KEYS SPEED: settings of the appliance.
publish() {
  write_publisher --sample "$sample" --speed "$2" --nic "[nic.udp]
listen = \"$at\"
$1" --publish '[[publish]]
ring = "cme"
to = ["udp"]
token_file = "token"
lossless = true
detach_after = "60s"'
}
stat() { "$bin/stopbit" stat "$name" --json | python3 -c "import json, sys; status = json.load(sys.stdin); print($1)"; }
udp() { stat "status['nic']['udp']['$1']"; }
records_of() { { "$slots" "$1" 0 2>/dev/null || true; } | wc -l; }
fails() { echo "$1"; shift; cat "$@" log; exit 1; }
# is_refused STATUS WORDS COMMAND...: it ends with that status, prints nothing, and says these words.
is_refused() {
  local expected=$1 words=$2 status=0
  shift 2
  timeout 100 "$@" >refused.jsonl 2>refused.log || status=$?
  [[ $status == "$expected" && ! -s refused.jsonl ]] || fails "$*: status $status" refused.log
  grep -q -- "$words" refused.log || fails "$*: not the words '$words'" refused.log
}

# Slow enough that the capture lasts longer than the test needs.
publish 'token_file = "network"' 0.08
"$bin/stopbit" run appliance.toml --check >check.txt
grep -q "^carrier udp *$at, encrypted, token in network$" check.txt || { cat check.txt; exit 1; }
start_appliance
if grep 'what="not confined"' log; then echo "the appliance was not confined"; exit 1; fi
grep -q "PORT IN USE" <("$bin/stopbit" run appliance.toml --check) || { echo "a port in use is not told"; exit 1; }
# Another one cannot have the port, and says so; an address of no interface is missing.
mkdir second
sed "s#^ring = .*#ring = \"$folder/second/cme\"#" feed.toml >second-feed.toml
sed "s/\"feed.toml\"/\"second-feed.toml\"/; 1s/^name = .*/name = \"$name-other\"/; s/^network = .*/network = \"$name-other\"/; s/^state = .*/state = \"other\"/" \
  appliance.toml >second.toml
status=0
timeout 100 "$bin/stopbit" run second.toml -q 2>second.log || status=$?
[[ $status == 3 ]] && grep -q "cannot use '$at': Address already in use" second.log || fails "a port in use: $status" second.log
sed -i "s/^listen = .*/listen = \"10.93.0.1:7707\"/" second.toml
for check in --check -q; do
  status=0
  timeout 100 "$bin/stopbit" run second.toml $check 2>second.log >/dev/null || status=$?
  [[ $status == 3 ]] && grep -q "Cannot assign requested address" second.log || fails "no such address: $status" second.log
done
python3 "$wire" tap to-left tap-left &
tap=$!
wait_for '[[ -e tap-left ]]'

readonly how=(--from-start --lossless --once --token-file token --network-token-file network)
"${in_left[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/left" "${how[@]}" 2>left.log &
left_ring=$!
"${in_right[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/stopped" "${how[@]}" 2>stopped.log &
stopped_ring=$!
"${in_right[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/killed" "${how[@]}" 2>killed.log &
killed=$!
# Two hosts and a bad wire between them: the subscriber's own is the loopback of its host.
readonly by=127.0.0.2:7709
"${in_left[@]}" python3 "$wire" forward $by $at 10.91.0.2 27 0.01 bad-wire &
forward=$!
wait_for '[[ -e bad-wire ]]'
"${in_left[@]}" "$bin/stopbit" subscribe "udp://$by/cme" --ring "$folder/bad" "${how[@]}" 2>bad.log &
bad_ring=$!
wait_for '[[ -e left && -e stopped && -e killed && -e bad && $(udp members) == 4 ]]'
wait_for '(($(records_of ./left) > 100 && $(records_of ./stopped) > 100 && $(records_of ./bad) > 100))'

kill -STOP "$stopped_ring"
sleep 4  # longer than every timer of the links, shorter than what ends a session
kill -CONT "$stopped_ring"
# Those who may not.
is_refused 1 "its token is another one" "${in_left[@]}" "$bin/stopbit" tail "udp://$at/cme" --network-token-file wrong
is_refused 2 "network-token-file is needed" "${in_left[@]}" "$bin/stopbit" tail "udp://$at/cme"
is_refused 3 "requires a token" "${in_left[@]}" "$bin/stopbit" tail "udp://$at/cme" --plain
is_refused 1 "no such ring for this token" "${in_left[@]}" "$bin/stopbit" tail "udp://$at/cme" --network-token-file network \
  --token-file wrong
wait_for '(($(udp wrong_token) > 1))'
wait_for 'grep -q "udp: refused: [0-9]* with another token or none, the last from 10.91.0.2" log'
kill -9 "$killed"
wait "$killed" 2>/dev/null || true
cp killed before-kill
before_strangers=$(records_of ./left)
"${in_right[@]}" python3 "$wire" strangers "$at"
"${in_right[@]}" python3 "$wire" replay tap-left "$at" >replayed
wait_for '(($(udp replayed) > 0 && $(udp strangers) > 0 && $(udp half_open) > 0))'
wait_for '(($(udp received) > 0)) && grep -q "udp: refused: .*datagrams of strangers" log'
"${in_right[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/killed" "${how[@]}" 2>again.log &
killed_ring=$!
"${in_left[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/late" "${how[@]}" 2>late.log &
late_ring=$!
# Honest members stay, and are served.
wait_for '[[ -e late && $(udp members) == 5 ]]'
wait_for '(($(records_of ./left) > before_strangers))'
"$bin/stopbit" stat "$name" >middle.txt
grep -q "^Carrier udp$" middle.txt || { cat middle.txt; exit 1; }

# All that there is when the appliance is asked to stop, at each of them.
wait_for '(($(records_of ./left) > 1000))'
stop_appliance || fails "the appliance failed"
for ring in left stopped killed bad late; do
  pid=${ring}_ring
  wait "${!pid}" || fails "$ring: status $?" ./*.log
done
"$slots" ./cme >local.slots
records=$(wc -l <local.slots)
((records > 1000)) || { echo "only $records records"; exit 1; }
for ring in left stopped killed bad late; do
  "$slots" "./$ring" >"$ring.slots" || fails "'$ring' has no end"
  cmp local.slots "$ring.slots" || fails "the records of '$ring' are others" "$ring.log"
  log=$ring.log
  [[ $ring != killed ]] || log=again.log
  grep -Eq "$ring: $records records, [0-9]+ of them fetched, 0 lost" "$log" || fails "'$ring' has counted others" "$log"
done
"$slots" ./before-kill >before.slots 2>/dev/null || true
cmp <(head -n "$(wc -l <before.slots)" local.slots) before.slots || fails "what was killed had other records"
python3 - <<'PYTHON'
import json
done = json.load(open("bad-wire"))
assert all(done[what] > 0 for what in ("lost", "doubled", "overtaken")), done
print("the bad wire:", done)
PYTHON
kill -9 "$forward" "$tap"
wait "$forward" "$tap" 2>/dev/null || true

# Whoever listens, of both kinds of network.
secrets=("this is a token of the network" "this is a token of the ring")
read -r packets with_record with_word < <(python3 "$wire" search tap-left local.slots "${secrets[@]}")
((packets > 500 && with_record == 0 && with_word == 0)) ||
  fails "among $packets packets $with_record records and $with_word tokens are readable"
echo "encrypted: $packets packets, no token and no record readable; $(cat replayed) were sent once more"

publish 'encryption = "off"' 2
grep -q "NOT ENCRYPTED" <("$bin/stopbit" run appliance.toml --check) || { echo "plain text is not told"; exit 1; }
start_appliance
python3 "$wire" tap to-left tap-plain &
tap=$!
wait_for '[[ -e tap-plain ]]'
is_refused 3 "perhaps it has no token" "${in_left[@]}" "$bin/stopbit" tail "udp://$at/cme" --network-token-file network
"${in_left[@]}" "$bin/stopbit" subscribe "udp://$at/cme" --ring "$folder/plain" --from-start --lossless --once --plain \
  --token-file token 2>plain.log &
plain_ring=$!
wait_for '[[ -e plain ]]'
"$bin/stopbit" stat "$name" | grep -q "^Carrier udp, NOT ENCRYPTED$" || { echo "stat does not tell"; exit 1; }
wait "$appliance" || fails "the appliance failed"
wait "$plain_ring" || fails "plain: status $?" plain.log
"$slots" ./cme >local.slots
cmp local.slots <("$slots" ./plain) || fails "the records of 'plain' are others" plain.log
wait_for '(($(python3 "$wire" search tap-plain local.slots "${secrets[@]}" | cut -d" " -f2) > 0))'
read -r packets with_record with_word < <(python3 "$wire" search tap-plain local.slots "${secrets[@]}")
((with_record > 0 && with_word > 0)) || fails "plain: among $packets packets $with_record records, $with_word tokens"
echo "plain: $packets packets, $with_record of 400 records readable, and $with_word token"
kill -9 "$tap"
wait "$tap" 2>/dev/null || true
