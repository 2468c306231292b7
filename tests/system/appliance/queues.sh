#!/usr/bin/env bash
# Two receive queues of one DPDK device, an agent for each, confined: the card (af_packet) spreads groups as it likes,
# and every packet comes to the agent of its channel; none is lost, and the accounts balance.
#
#     queues.sh BIN_FOLDER        status 77: no namespaces here, or a program without DPDK
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace queues
lay_first_wire

cat >sim.toml <<'TOML'
preset = "cme"
seed = 7
duration = "5s"
channels = 4
instruments = 20
rate = 500
snapshot_every = "1s"
heartbeat_every = "100ms"
[line_a]
group = "239.30.1.1:30001"
interface = "tx0"
[line_b]
group = "239.30.2.1:31001"
interface = "tx0"
TOML
"$bin/stopbit" simulate sim.toml -o /dev/null --write-feed made -q
# No rings, and windows for a machine that is busy.
sed -i -e "s|^ring = .*|ring = \"\"|" -e 's|^window = .*|window = { packets = 4096, time = "1s" }|' made/feed.toml
core=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
cat >appliance.toml <<TOML
name = "$name"
state = "state"
[dpdk]
memory = "128MiB"
[[agent]]
name = "left"
core = $core
idle = "backoff"
[[agent]]
name = "right"
[[port]]
name = "queue-0"
agent = "left"
kind = "dpdk"
device = "net_af_packet_queues,iface=rx0,qpairs=2,blocksz=65536,framesz=2048,framecnt=8192"
address = "10.77.0.2"
[[port]]
name = "queue-1"
agent = "right"
kind = "dpdk"
device = "net_af_packet_queues,iface=rx0,qpairs=2,blocksz=65536,framesz=2048,framecnt=8192"
[[feed]]
file = "made/feed.toml"
a = "queue-0"
channels = ["incremental 1", "snapshot 2", "incremental 3", "snapshot 4"]
[[feed]]
file = "made/feed.toml"
a = "queue-1"
channels = ["snapshot 1", "incremental 2", "snapshot 3", "incremental 4"]
TOML
if ! start_appliance; then
  grep -q 'built without DPDK' log && exit $kSkipped
  exit 1
fi
"$bin/stopbit" simulate sim.toml 2>sent
# Every channel has delivered what was sent on it.
# shellcheck disable=SC2329  # wait_for calls it
is_all_there() {
  "$bin/stopbit" stat "$name" --json >now.json
  python3 - <<'PYTHON'
import json, sys
sent = {f"{words[1]} {words[0]}": int(words[3]) for words in map(str.split, open("sent")) if words[:1] and words[0].isdigit()}
packets = {channel["name"]: channel["packets"] for channel in json.load(open("now.json"))["channels"]}
has_come = lambda name: packets[name]["received"] == 2 * sent[name] and packets[name]["delivered"] == sent[name]
sys.exit(len(sent) != 8 or not all(map(has_come, sent)))
PYTHON
}
wait_for is_all_there
stop_appliance
cat log
"$bin/stopbit" stat "$name" --json >end.json
"$bin/stopbit" stat "$name"
grep -q 'handed over' log
python3 - <<'PYTHON'
import json
end = json.load(open("end.json"))
assert len(end["channels"]) == 8, end
for channel in end["channels"]:
    packets, numbers, lines = channel["packets"], channel["numbers"], channel["lines"]
    assert packets["received"] == sum(packets[k] for k in packets if k != "received"), channel
    assert numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), channel
    assert lines["A"]["packets"] == lines["B"]["packets"] == packets["delivered"] > 20, channel
    assert numbers["lost"] == channel["decode_errors"] == 0, channel
ports = end["ports"]
assert len(ports) == 2 and all(port["dropped_by_nic"] == 0 and port["foreign"] == 0 for port in ports), ports
PYTHON
