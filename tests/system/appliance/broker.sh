#!/usr/bin/env bash
# A confined appliance offers its ring to processes of this host: those who are entitled attach it, others learn
# nothing, entitlements change while it runs, strangers at the socket do not fill the log, and files of clients are read
# through the node without being in memory as a whole.
#
#     broker.sh BIN_FOLDER UNPINNED_CLIENT        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
unpinned_client=$(readlink -f "$2")
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
unpinned = "32MiB"
resident = "1MiB"
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
wait_for '"$bin/stopbit" stat "$name" --json | grep -q "\"messages\":[1-9][0-9][0-9]"'
# A user that is entitled has the ring copied by the appliance, and is killed: the copy goes with it.
"$bin/stopbit" subscribe broker:broker.sock/ring --ring "copy-$name" --from-start 2>copied.log &
copied=$!
wait_for '[[ -e $rings/copy-$name ]]'
"$bin/stopbit" tail "copy-$name" >copied.jsonl &
wait_for '[[ $(wc -l <copied.jsonl) -ge 100 ]]'
wait_for '"$bin/stopbit" stat "$name" >stat.txt; grep -q "near" stat.txt'
kill -9 "$copied"
wait_for '[[ ! -e $rings/copy-$name ]]'
status=0
"$bin/stopbit" tail broker:broker.sock/odd 2>refused.log || status=$?
[[ $status == 1 ]] && grep -q "no such feed" refused.log || { echo "status $status"; cat refused.log; exit 1; }
python3 "$here/broker_test.py" broker.sock control.sock entitlements.toml $appliance ring odd
if grep -q 'what="not confined"' log; then echo "the appliance was not confined"; cat log; exit 1; fi
for said in "feed 'ring' attached by port" "attach refused, ERR_TWINID_INV" "turned away" "left by port"; do
  wait_for 'grep -q "what=\"nic\" text=\".*$said" log'
done
(($(grep -c "turned away" log) < 200)) || { echo "strangers fill the log"; exit 1; }
wait_for '"$bin/stopbit" stat "$name" | grep -A2 "^attached by name" | grep -Eq "^ring +0 +[1-9]"'
wait_for '"$bin/stopbit" top "$name" --once | grep -q "^broker: 0 clients"'

status=0
"$unpinned_client" broker.sock || status=$?
if ((status == 0)); then
  # Three files of 8192 pages; what one client had is given back before the next one gets it. Counters are a tenth of a
  # second old.
  has_moved_all() {
    "$bin/stopbit" stat "$name" --json | python3 -c 'import json, sys
nic = json.load(sys.stdin)["nic"]
print(nic["pages_fetched"] >= 3 * 8192 and nic["pages_evicted"] >= 3 * (8192 - 256) and nic["pages_failed"] == 0)'
  }
  wait_for '[[ $(has_moved_all) == True ]]'
elif ((status != 77)); then
  echo "unpinned memory: status $status"; cat log; exit 1
fi

# A client sees the end of a killed appliance, and the next one takes over the socket.
python3 "$here/broker_test.py" broker.sock --killed $appliance
wait $appliance 2>/dev/null || true
start_appliance
python3 "$here/broker_test.py" broker.sock --open
stop_appliance
[[ ! -e broker.sock ]] || { echo "the socket stays behind"; exit 1; }
