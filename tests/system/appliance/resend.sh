#!/usr/bin/env bash
# `stopbit replay --to udp`: an appliance gets from the network, packet by packet, what a capture has, at the pace of the
# capture, from renamed groups; without --interface nothing leaves.
#
#     resend.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace resend
use_loopback
write_settings --rate 200 --seconds 2 --sends lo --receives lo --window 'packets = 1024, time = "20ms"'
"$bin/stopbit" simulate sim.toml -o day.pcap -q
lo_packets() { sed -n 's/^ *lo: *[0-9]* *\([0-9]*\).*/\1/p' /proc/net/dev; }

# What must not leave does not, and the message says how it may.
before=$(lo_packets)
status=0
"$bin/stopbit" replay day.pcap --to udp 2>refusal || status=$?
((status == 2)) && grep -q 'needs --interface' refusal
(($(lo_packets) == before))

start_appliance
begin=$(date +%s%N)
"$bin/stopbit" replay day.pcap --to udp --interface lo --feed feed.toml 2>sent
took=$(($(date +%s%N) - begin))
cat sent
((took >= 1900000000)) || { echo "two seconds of a capture were sent in $took ns"; exit 1; }
sent=$(awk '/datagrams/ {n += $1} END {print n}' sent)
received() { "$bin/stopbit" stat "$name" --json | python3 -c 'import json,sys; print(sum(c["packets"]["received"] for c in json.load(sys.stdin)["channels"]))'; }
wait_for "((\$(received) == $sent))"
"$bin/stopbit" stat "$name" --json | python3 -c '
import json, sys
for channel in json.load(sys.stdin)["channels"]:
    assert channel["gaps"] == 0 and channel["messages"] > 0, channel'
stop_appliance

# Renamed, as fast as possible, a part of them: a socket of the new group gets exactly the payloads of the old one.
python3 - "$bin/stopbit" <<'PYTHON'
import re, socket, struct, subprocess, sys
groups = re.findall(r"to ([0-9.]+):(\d+)", open("sent").read())
old = "%s:%s" % groups[0]
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
receiver.bind(("239.9.9.9", 40009))
receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    struct.pack("=4s4si", socket.inet_aton("239.9.9.9"), b"\0\0\0\0", socket.if_nametoindex("lo")))
receiver.settimeout(60)
sent = subprocess.run([sys.argv[1], "replay", "day.pcap", "--to", "udp", "--interface", "lo", "--group", old,
                       "--rename", old + "=239.9.9.9:40009", "--speed", "max", "--limit", "20"],
                      check=True, stderr=subprocess.PIPE, text=True).stderr
assert "to 239.9.9.9:40009, captured as " + old in sent, sent
assert "packets of other groups were not sent" in sent, sent
data = open("day.pcap", "rb").read()
order = "<" if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1") else ">"
at, wanted = 24, []
address, port = old.split(":")
while at < len(data) and len(wanted) < 20:
    length = struct.unpack(order + "I", data[at + 8:at + 12])[0]
    frame = data[at + 16:at + 16 + length]
    at += 16 + length
    if frame[30:34] == socket.inet_aton(address) and struct.unpack(">H", frame[36:38])[0] == int(port):
        wanted.append(frame[42:])
assert [receiver.recv(65536) for _ in wanted] == wanted
wrong = subprocess.run([sys.argv[1], "replay", "day.pcap", "--to", "udp", "--interface", "lo", "--group", old,
                        "--rename", "239.20.1.9:9=239.9.9.9:40009", "--speed", "max", "--limit", "1"],
                       stderr=subprocess.PIPE, text=True)
assert wrong.returncode == 1 and "no packet of the captures goes to 239.20.1.9:9" in wrong.stderr, wrong
PYTHON
