#!/usr/bin/env bash
# Books over a bad network: a simulated exchange in one network namespace, an appliance in another. Each line loses
# packets, and some are lost on both. Each book that the appliance calls latest is compared with the exchange's; what its
# recorder has written gives, at any time, the books that the appliance had then (audit.py).
#
#     soak.sh BIN_FOLDER SECONDS [SEED]        prints a line of JSON; status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
seconds=$2
seed=${3:-1}
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=../../system/appliance/wire.bash
. "$here/../../system/appliance/wire.bash"
enter_namespace "" "$@"
make_workplace market-soak
lay_first_wire

cat >sim.toml <<SIM
seed = $seed
duration = "${seconds}s"
instruments = 20
rate = 100
snapshot_every = "2s"
heartbeat_every = "500ms"
[market]
exchange = "moex-fx"
fragment = 4
[impair_both]
loss = 0.01
[line_a]
group = "239.30.1.1:30001"
interface = "tx0"
impair = { loss = 0.01 }
[line_b]
group = "239.30.2.1:30001"
interface = "tx0"
impair = { loss = 0.01 }
SIM
"$bin/stopbit" simulate sim.toml -o /dev/null --write-feed . --truth truth.jsonl -q
maps=$here/../../../host/market/map/maps
sed -i "s|^map = \"\(.*\)\"|map = \"$maps/\1.toml\"|; s|^ring = .*|ring = \"$folder/ring\"|; s|^events = .*|events = \"$folder/events\"|; s|^recovers = .*|&\ncycle = \"2s\"|" feed.toml
cat >appliance.toml <<APPLIANCE
name = "$name"
state = "state"
[recorder]
folder = "packets"
line = "4GiB"
[[agent]]
name = "md"
[[port]]
name = "wire"
interface = "rx0"
[[feed]]
file = "feed.toml"
a = "wire"
b = "wire"
APPLIANCE
start_appliance
"${in_its_network[@]}" "$bin/stopbit" tail ./events >events.jsonl 2>tail.log &
tail=$!
wait_for 'kill -0 $tail && [[ -e events.state ]]'
"$bin/stopbit" simulate sim.toml -q 2>sim.log
# The last packets are in the ring as soon as they are delivered.
last=$(tail -n 1 truth.jsonl | sed 's/.*"sequence":\([0-9]*\).*/\1/')
wait_for '[[ $("$bin/stopbit" stat "$name" --json | python3 -c "import json,sys; print(json.load(sys.stdin)[\"channels\"][0][\"next_sequence\"])") -gt $last ]]'
"$bin/stopbit" ready "$name" >ready || true
stop_appliance
wait "$tail" || { cat tail.log; exit 1; }
"$bin/stopbit" gaps --state state --since 1d --json >gaps.json
"$here/audit.py" "$bin/stopbit" --seconds "$seconds" --seed "$seed"
