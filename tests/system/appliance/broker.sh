#!/usr/bin/env bash
# A confined appliance offers its ring to processes of this host: those who are entitled attach it, others learn
# nothing, entitlements change while it runs, and strangers at the socket do not fill the log.
#
#     broker.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace broker
use_loopback
"$here/feed.sh" "$bin" "$name" lo lo
cat >entitlements.toml <<TOML
[[entitlement]]
user = "$(id -u)"
feeds = ["ring"]
TOML
cat >>appliance.toml <<TOML
[nic]
network = "$name"
broker = "broker.sock"
entitlements = "entitlements.toml"
TOML
grep -q '^\[control\]' appliance.toml || printf '[control]\nsocket = "control.sock"\n' >>appliance.toml
chmod 755 "$folder"  # others look at the socket, too
start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
children+=($!)
wait_for '"$bin/stopbit" stat "$name" --json | grep -q "\"messages\":[1-9][0-9][0-9]"'
# A user that is entitled has the ring copied by the appliance, and is killed: the copy goes with it.
"$bin/stopbit" subscribe broker:broker.sock/ring --ring "copy-$name" --from-start 2>copied.log &
copied=$!
children+=("$copied")
wait_for '[[ -e /dev/shm/stopbit-copy-$name ]]'
"$bin/stopbit" tail "copy-$name" >copied.jsonl &
children+=("$!")
wait_for '[[ $(wc -l <copied.jsonl) -ge 100 ]]'
wait_for '"$bin/stopbit" stat "$name" >stat.txt; grep -q "near" stat.txt'
kill -9 "$copied"
wait_for '[[ ! -e /dev/shm/stopbit-copy-$name ]]'
status=0
"$bin/stopbit" tail broker:broker.sock/odd 2>refused.log || status=$?
[[ $status == 1 ]] && grep -q "no such feed" refused.log || { echo "status $status"; cat refused.log; exit 1; }
python3 "$here/broker_test.py" broker.sock control.sock entitlements.toml $appliance ring odd
if grep -q 'what="not confined"' log; then echo "the appliance was not confined"; cat log; exit 1; fi
for said in "feed 'ring' attached by port" "attach refused, ERR_TWINID_INV" "turned away" "left by port"; do
  wait_for 'grep -q "what=\"nic\" text=\".*$said" log'
done
(($(grep -c "turned away" log) < 200)) || { echo "strangers fill the log"; exit 1; }
"$bin/stopbit" stat "$name" >stat.txt
grep -A2 "^attached by name" stat.txt >attached.txt
grep -Eq "^ring +0 +[1-9]" attached.txt || { cat stat.txt; exit 1; }
"$bin/stopbit" top "$name" --once | grep -q "^broker: 0 clients" || { echo "top has no broker"; exit 1; }

# A client sees the end of a killed appliance, and the next one takes over the socket.
python3 "$here/broker_test.py" broker.sock --killed $appliance
wait $appliance 2>/dev/null || true
start_appliance
python3 "$here/broker_test.py" broker.sock --open
stop_appliance
[[ ! -e broker.sock ]] || { echo "the socket stays behind"; exit 1; }
