#!/usr/bin/env bash
# Feeds and channels of a confined appliance change under traffic, while one channel stays: every packet of that one is
# delivered exactly once. A signal and a command do the same; what is wrong changes nothing; with a full /dev/shm no ring
# is made; an agent that hangs delays its change and refuses the next; without an opener nothing can be opened, and
# everything runs on.
#
#     reload.sh BIN_FOLDER        status 77: no namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "pgrep" "$@"
make_workplace reload
mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
lay_first_wire
readonly kRounds=4

cat >ticks.xml <<'XML'
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Tick" id="1"><uInt32 name="Number" id="1"/></template>
</templates>
XML
# channel NUMBER NAME RING GROUP [LINE]...: further lines are keys of the channel.
channel() {
  printf '[[channel]]\nnumber = %s\nname = "%s"\nframing = "cme"\nring = "%s"\nwindow = { packets = 1024, time = "500ms" }\n' "$1" "$2" "$3"
  printf 'a = { group = "239.40.1.%s", port = 40000 }\nb = { group = "239.40.2.%s", port = 40000 }\n' "$4" "$4"
  shift 4
  printf '%s\n' "$@"
}
# write_feed FILE NAME CHANNELS
write_feed() {
  printf 'name = "%s"\n[[image]]\nname = "ticks-%s"\ntemplates = ["ticks.xml"]\n%s\n' "$2" "$2" "$3" >next
  mv next "$1"
}
# write_appliance TABLES
write_appliance() {
  cat >next <<TOML
name = "$name"
state = "state"
[control]
socket = "control.sock"
[recorder]
folder = "packets"
file = "1MiB"
line = "4MiB"
[[agent]]
name = "md"
idle = "backoff"
[[port]]
name = "wire"
interface = "rx0"
[[feed]]
file = "feed.toml"
a = "wire"
$1
TOML
  mv next appliance.toml
}
stays=$(channel 1 stays "$folder/stays" 1)
goes=$(channel 2 goes "$folder/goes" 2)
write_feed feed.toml first "$stays
$goes"
write_appliance ""

# The exchange: four groups on two lines; says at the end how many numbers it has sent.
cat >exchange.py <<'PYTHON'
import signal, socket, struct, time
going = True
def end(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, end)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.77.0.1"))
number = 0
while going:
    number += 1
    value = b""
    rest = number
    while True:
        value = bytes([rest & 0x7F | (0x80 if not value else 0)]) + value
        rest >>= 7
        if not rest:
            break
    packet = struct.pack(">IB", number, 0) + b"\xc0\x81" + value
    for group in (1, 2, 3, 4):
        for line in (1, 2):
            out.sendto(packet, (f"239.40.{line}.{group}", 40000))
    time.sleep(0.004)
print(number)
PYTHON

start_appliance
if grep 'what="not confined"' log | grep -v "no Landlock"; then echo "the appliance was not confined"; exit 1; fi
python3 exchange.py >sent 2>exchange.log &
exchange=$!

stat() { "$bin/stopbit" stat "$name" --json; }
# value CHANNEL PATH: of its JSON; nothing if there is no such channel.
value() {
  stat | python3 -c '
import functools, json, sys
for channel in json.load(sys.stdin)["channels"]:
    if channel["name"] == sys.argv[1]:
        print(functools.reduce(lambda found, key: found[key], sys.argv[2].split("/"), channel))' "$1" "$2"
}
channels() { stat | python3 -c 'import json,sys; print(*sorted(c["name"] for c in json.load(sys.stdin)["channels"]))'; }
reload() {
  answer=$("${in_its_network[@]}" "$bin/stopbit" ctl "$name" reload 2>&1) || true
  # An agent takes the change before the next one, within a turn.
  [[ $answer != *"still in progress"* ]] || { sleep 0.1; reload; }
}
expect() { [[ $answer == $1 ]] || { echo "expected '$1', got '$answer'"; cat log; exit 1; }; }
wait_for '(($(value stays packets/delivered) > 500))'

# Sockets of the appliance, as the kernel counts memberships.
memberships() { nsenter -t "$there" -n ip -4 maddress show dev rx0 | grep -c 239.40; }
(($(memberships) == 4))

three=$(channel 3 three "$folder/three" 3)
four=$(channel 4 four "$folder/stays" 4)
for round in $(seq $kRounds); do
  # One more, with a ring of its own, and one in the ring of the channel that stays; another goes.
  write_feed feed.toml first "$three
$stays
$four"
  reload
  expect 'in force: *2 channels added (three, four), 1 removed (goes)'
  [[ $answer != *recorded* ]] || { echo "$answer"; exit 1; }
  [[ $(channels) == "four stays three" ]]
  wait_for '(($(value three packets/delivered) > 20 && $(value four packets/delivered) > 20))'
  (($(value four numbers/lost) == 0 && $(value three numbers/lost) == 0)) || { stat; exit 1; }
  (($(memberships) == 6))
  # The two swap their names; a window changes; by a signal.
  before=$(grep -c 'what="reload" by="SIGHUP"' log || true)
  write_feed feed.toml first "$(channel 3 four "$folder/three" 3)
$stays
$(channel 4 three "$folder/stays" 4 'switch_silence = "2s"')"
  kill -HUP "$appliance"
  wait_for '(($(grep -c "what=\"reload\" by=\"SIGHUP\"" log) > before))'
  grep 'what="reload" by="SIGHUP"' log | tail -1 | grep -q '2 channels begun anew' || { tail -5 log; exit 1; }
  wait_for '(($(value three packets/delivered) > 20 && $(value four packets/delivered) > 20))'
  (($(value four numbers/lost) == 0 && $(value three numbers/lost) == 0)) || { stat; exit 1; }
  # Everything as at the start.
  write_feed feed.toml first "$stays
$goes"
  reload
  expect 'in force: *1 channel added (goes), 2 removed (*)'
  wait_for '(($(value goes packets/delivered) > 20))'
  (($(value goes numbers/lost) == 0)) || { stat; exit 1; }
done
wait_for '(($(memberships) == 4))'
# The opener has made the files of lines that came while it ran, too, and lets the recorder remove them.
stat | python3 -c 'import json, sys; r = json.load(sys.stdin)["recorder"]; assert r["failing_lines"] == 0, r'
for line in goes-a three-a three-b four-a; do compgen -G "packets/$line-*.pcapng" >/dev/null; done

# A group goes from one channel to another, which is in another feed: its file is new to the opener.
write_feed feed.toml first "$stays"
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)"
write_appliance '[[feed]]
file = "second.toml"
a = "wire"'
reload
expect 'in force: *1 channel added (moved), 1 removed (goes)'
wait_for '(($(value moved packets/delivered) > 20))'
(($(value moved numbers/lost) == 0)) || { stat; exit 1; }

# What is wrong changes nothing, whatever else is right.
cp second.toml good.toml
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)
$(channel 8 wrong "$folder/wrong" 3 'mode = "nonsense"')"
reload
expect 'stopbit: nothing changed: second.toml:*'
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)
$(channel 8 nowhere "/proc/no-such-folder/ring" 3)"
reload
expect 'stopbit: nothing changed: *'
mkfifo fifo
mv fifo second.toml
reload
expect 'stopbit: nothing changed: *'
[[ $(channels) == "moved stays" ]]
# What cannot change is named, and the other channels wait for it.
write_feed second.toml other "$(channel 7 moved "$folder/moved" 2)
$(channel 8 eight "$folder/eight" 3)"
reload
expect 'in force: *needs a restart: *second.toml: name (*'
[[ $(channels) == "moved stays" ]]
cp good.toml second.toml
reload
expect 'in force: users, permissions, hosts, token and certificates'

# No memory for another ring.
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)
$(channel 8 eight "$name-eight" 3)"
fallocate -l "$(df --output=avail -B1 /dev/shm | tail -1)" /dev/shm/filler
reload
expect 'stopbit: nothing changed: *not enough space in /dev/shm*'
[[ $(channels) == "moved stays" && ! -e $rings/$name-eight ]]
(($(memberships) == 4))
before=$(value stays packets/delivered)
wait_for '(($(value stays packets/delivered) > before + 100))'
rm /dev/shm/filler
reload
expect 'in force: *1 channel added (eight)*'
wait_for '(($(value eight packets/delivered) > 20))'
cp good.toml second.toml
reload
expect 'in force: *1 channel removed (eight)'

# An agent that hangs: its thread is held, as by a debugger, while the exchange is silent.
cat >hold.py <<'PYTHON'
import ctypes, os, sys
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
kSeize, kInterrupt, kDetach, kAll = 0x4206, 0x4207, 17, 0x40000000
thread = int(sys.argv[1])
for request in kSeize, kInterrupt:
    if ptrace(request, thread, None, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(thread, kAll)
print("held", flush=True)
sys.stdin.read()
ptrace(kDetach, thread, None, None)
PYTHON
kill -STOP $exchange
before=0
drained() { local last=$before; before=$(value stays packets/duplicate); ((before == last)); }
wait_for drained
agent=$(grep -lx md /proc/$appliance/task/*/comm | sed 's|/comm||; s|.*/||')
mkfifo release
exec 7<>release
python3 hold.py "$agent" <release 7>&- >held 2>hold.log &
holder=$!
wait_for 'grep -q held held || ! kill -0 $holder 2>/dev/null'
grep -q held held || { echo "the thread cannot be held: $(cat hold.log)"; exit 1; }
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)
$(channel 8 nine "$folder/nine" 3)"
reload
expect 'in force: *1 channel added (nine)*'
cp good.toml second.toml
answer=$("${in_its_network[@]}" "$bin/stopbit" ctl "$name" reload 2>&1) || true
expect 'stopbit: nothing changed: an earlier change of channels is still in progress'
[[ $(channels) == "moved nine stays" && $(value nine packets/delivered) == 0 ]]
exec 7>&-
wait $holder
kill -CONT $exchange
wait_for '(($(value nine packets/delivered) > 20))'
(($(value nine numbers/lost) == 0)) || { stat; exit 1; }
reload
expect 'in force: *1 channel removed (nine)'

# The interface goes: nothing can be joined there.
nsenter -t "$there" -n ip link set rx0 name gone
write_feed second.toml second "$(channel 7 moved "$folder/moved" 2)
$(channel 8 eight "$folder/eight" 3)"
reload
expect "stopbit: nothing changed: *no interface 'rx0'*"
nsenter -t "$there" -n ip link set gone name rx0
wait_for '(($(value stays packets/delivered) > 0))'

# Without an opener.
kill -9 "$(pgrep -P "$appliance")"
wait_for 'grep -q "what=\"opener ended\"" log'
reload
expect 'stopbit: nothing changed: *'
[[ $(channels) == "moved stays" ]]
before=$(value stays packets/delivered)
wait_for '(($(value stays packets/delivered) > before + 100))'

# Every packet of the channel that stayed, exactly once.
kill -TERM $exchange
wait $exchange || true
sent=$(cat sent)
((sent > 1000))
wait_for '(($(value stays packets/delivered) >= sent))'
stat | python3 -c '
import json, sys
sent = int(sys.argv[1])
stays = next(c for c in json.load(sys.stdin)["channels"] if c["name"] == "stays")
expected = {"numbers": {"expected": sent, "delivered": sent, "recovered": 0, "lost": 0, "held": 0}, "messages": sent}
for key, value in expected.items():
    found = {name: stays[key].get(name) for name in value} if isinstance(value, dict) else stays[key]
    assert found == value, (key, found, value)
assert stays["packets"]["delivered"] == sent, stays
assert stays["packets"]["duplicate"] + stays["packets"]["late"] == sent, stays
assert stays["packets"]["malformed"] == 0 and stays["gaps"] == 0, stays
for line in "AB":
    assert stays["lines"][line]["packets"] == sent and stays["lines"][line]["missing"] == 0, stays
' "$sent"
stop_appliance
echo "$sent packets, $((kRounds * 3)) changes of channels"
