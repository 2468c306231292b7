#!/usr/bin/env bash
# A thousand clients that are silent, slow, deaf, or leave in the middle hold the doors of an appliance, and come again
# when they are shut out: no packet is lost, the accounts are exact, memory and descriptors stay within bounds, the log
# tells of it, and clients that mean well are served. First with plain HTTP, then with TLS.
#
#     crowd.sh BIN_FOLDER CROWD.PY        status 77: no network namespaces or no openssl here
set -euo pipefail
bin=$(readlink -f "$1")
crowd=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "openssl" "$@"
make_workplace crowd
keep_little_memory
lay_first_wire
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out certificate.pem -days 2 \
  -subj "/CN=crowd" -addext subjectAltName=IP:127.0.0.1 2>openssl.log

# besiege SCHEME TLS_KEYS: one life of the appliance.
besiege() {
  write_settings --rate 500 --seconds 12 --window 'packets = 8192, time = "2s"' \
    --appliance "[control]
socket = \"control.sock\"
[http]
listen = \"127.0.0.1:9464\"
$2"
  start_appliance
  "$bin/stopbit" simulate sim.toml 2>sent &
  exchange=$!
  local tls=()
  [[ $1 == http ]] || tls=(--tls)
  nsenter -t "$there" -n python3 "$crowd" --clients 1000 --http 127.0.0.1:9464 "${tls[@]}" --socket "$folder/control.sock" \
    --seconds 300 >seen 2>crowd.err &
  local siege=$!
  wait_for '[[ -s seen ]]'
  nsenter -t "$there" -n python3 "$here/crowd_test.py" "$1" 9464 control.sock $appliance certificate.pem
  wait $exchange || { cat sent; exit 1; }
  # Everything that was sent is there, with the crowd at the doors.
  wait_for 'everything_came'
  kill -TERM $siege
  wait $siege || { cat crowd.err; exit 1; }
  grep -q 'what="clients refused" more=[0-9]' log || { cat log; exit 1; }
  stop_appliance
  "$bin/stopbit" stat "$name" --json >end.json
  python3 - "$(sent_numbers)" <<'PYTHON'
import json, sys
channel = json.load(open("end.json"))["channels"][0]
packets, numbers, lines = channel["packets"], channel["numbers"], channel["lines"]
sent = int(sys.argv[1])
assert sent > 5000, sent
assert packets["received"] == sum(packets[k] for k in packets if k != "received") == 2 * sent, (sent, packets)
assert lines["A"]["packets"] == lines["B"]["packets"] == packets["delivered"] == packets["duplicate"] == sent, (sent, channel)
assert numbers["expected"] == numbers["delivered"] == sent and channel["decode_errors"] == 0, (sent, channel)
with open("seen") as file:
    seen = json.loads(file.read().splitlines()[1])
assert seen["clients"] == 1000 and seen["came"] > 1000 and seen["shut out"] > 900, seen
print(f"{sent} numbers on both lines, all delivered;", seen)
PYTHON
}
sent_numbers() { awk '$2 == "incremental" { print $4 }' sent; }
everything_came() {
  "$bin/stopbit" stat "$name" --json | python3 -c "
import json, sys
sys.exit(json.load(sys.stdin)['channels'][0]['packets']['received'] != 2 * $(sent_numbers))"
}

besiege http ''
besiege https 'certificate = "certificate.pem"
key = "key.pem"'
