#!/usr/bin/env bash
# The simulated card decodes what comes from a socket and from a DPDK port, confined: its ring holds the records that
# the ring of software holds, which listens beside it. What the card cannot have goes to software, and the log says why.
#
#     card.sh BIN_FOLDER xclbin|device      the card is opened by XRT or by VFIO; status 77: no namespaces here, no
#                                           XRT, or no simulated card, which is built without sanitizers only
set -euo pipefail
bin=$(readlink -f "$1")
opened_by=$2
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace card
lay_first_wire

# Some packets a second, for the card is simulated.
cat >sim.toml <<'TOML'
preset = "cme"
seed = 7
duration = "3s"
channels = 1
instruments = 5
rate = 20
snapshot_every = "1s"
heartbeat_every = "1s"
[line_a]
group = "239.30.1.1:30001"
interface = "tx0"
[line_b]
group = "239.30.2.1:31001"
interface = "tx0"
TOML
"$bin/stopbit" simulate sim.toml -o /dev/null --write-feed made -q
for who in card software; do
  sed -e "s|^ring = .*|ring = \"$folder/$who\"|" -e "s|^name = \"\(.*\) 1\"|name = \"\1 $who\"|" \
    -e "s|^name = \"cme\"|name = \"$who\"|" -e "s|^image = .*|image = \"$who\"|" \
    -e 's|^window = .*|window = { packets = 4096, time = "1s" }|' made/feed.toml >"made/$who.toml"
done

# decode PORT: its [[port]] besides name and agent; the records of both rings are the same.
decode() {
  cat >appliance.toml <<TOML
name = "$name"
state = "state"
silence = "1h"
engine = "card"
[card]
$opened_by = "sim"
[dpdk]
memory = "128MiB"
[[agent]]
name = "card"
[[agent]]
name = "software"
[[port]]
name = "one"
agent = "card"
$1
[[port]]
name = "two"
agent = "software"
interface = "rx0"
[[feed]]
file = "made/card.toml"
a = "one"
[[feed]]
file = "made/software.toml"
a = "two"
TOML
  if ! start_appliance; then
    grep -Eq 'need the package stopbit-xrt|the simulated card is missing' log && exit $kSkipped
    return 1
  fi
  grep -q "what=\"card\" decodes=\"$folder/card\" $opened_by=\"sim\"" log
  grep -q "the card does not decode '$folder/software': it runs one program at a time, and runs that of '$folder/card'; it is decoded in software" log
  "$bin/stopbit" simulate sim.toml -q
  wait_for 'is_all_there'
  stop_appliance
  "$bin/stopbit" stat "$name"
  for who in card software; do
    # Each channel has templates of its own, and an order of its own.
    "$bin/stopbit" tail "./$who" | sort -s -t, -k1,1 >"$who.jsonl"
  done
  cmp card.jsonl software.jsonl
  (($(wc -l <card.jsonl) > 50))
}

# Every channel has delivered as many numbers as its twin, and the exchange has nothing more to send.
# shellcheck disable=SC2329  # wait_for calls it
is_all_there() {
  "$bin/stopbit" stat "$name" --json >now.json
  python3 - <<'PYTHON'
import json
channels = {c["name"]: c["packets"]["delivered"] for c in json.load(open("now.json"))["channels"]}
for kind in ("incremental", "snapshot"):
    assert channels[kind + " card"] == channels[kind + " software"] >= 15, channels
PYTHON
}

decode 'interface = "rx0"'
decode 'kind = "dpdk"
device = "net_af_packet_card,iface=rx0,blocksz=65536,framesz=2048,framecnt=8192"
address = "10.77.0.2"'
