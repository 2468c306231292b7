#!/usr/bin/env bash
# host/bindings/examples/nic, built on an installed copy: two processes exchange messages, a put and a get through the
# broker of an appliance. A third one, whose user is entitled to nothing, gets no port.
#
#     nic.sh CMAKE BUILD_FOLDER SOURCE_FOLDER CXX_COMPILER SCRATCH_FOLDER [FLAG...]
set -euo pipefail
cmake=$1 build=$2 source=$3 cxx=$4 scratch=$5
shift 5
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
"$cmake" --install "$build" --prefix "$scratch/installed" >install.log
mv installed moved  # nothing may point back
export PKG_CONFIG_PATH=$scratch/moved/lib/pkgconfig
strict=(-Wall -Wextra -Wpedantic -Werror)
cp -r "$source/host/bindings/examples/nic" example
"$cmake" -S example -B built -DCMAKE_PREFIX_PATH="$scratch/moved" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${strict[*]} $*" >built.log
"$cmake" --build built >>built.log || { cat built.log; exit 1; }
# shellcheck disable=SC2046  # a word each
"$cxx" -std=c++20 "${strict[@]}" "$@" example/exchange.cpp $(pkg-config --cflags --libs stopbit-nic) -o exchange

# An appliance with a broker, which decodes the sample for an hour and a half.
name=exchange$$
folder=$scratch/moved/share/stopbit/example
cat >appliance.toml <<TOML
name = "$name"
state = "state"
[nic]
network = "$name"
broker = "broker.sock"
entitlements = "entitlements.toml"
[[agent]]
name = "md"
idle = "sleep"
[[port]]
name = "capture"
kind = "capture"
file = "$folder/capture.pcap.gz"
speed = 0.01
[[feed]]
file = "$folder/feed.toml"
a = "capture"
TOML
printf '[[entitlement]]\nuser = "%s"\nports = 2\n' "$(id -u)" >entitlements.toml
"$scratch/moved/bin/stopbit" run appliance.toml 2>log &
appliance=$!
trap 'kill $appliance 2>/dev/null; wait $appliance 2>/dev/null || true' EXIT

wait_for() {
  until eval "$1"; do
    kill -0 $appliance 2>/dev/null || { echo "the appliance ended before: $1"; cat log; exit 1; }
    sleep 0.05
  done
}
wait_for '[[ -S broker.sock ]]'
for program in built/exchange ./exchange; do
  rm -f served
  $program broker.sock >served &
  server=$!
  wait_for '[[ -s served ]] || ! kill -0 $server 2>/dev/null'
  read -r node port <served
  $program broker.sock "$node" "$port" >called
  wait $server
  grep -qx "got back: these bytes were put" called || { cat called served; exit 1; }
  grep -qx "put is done: these bytes were put" served || { cat called served; exit 1; }
  grep -q "^from port [0-9]*: a window, please$" served || { cat served; exit 1; }
  # The server has gone, and its port with it.
  status=0
  $program broker.sock "$node" "$port" 2>refused || status=$?
  [[ $status == 1 ]] && grep -q "^exchange: the message was refused: " refused || { echo "status $status"; cat refused; exit 1; }
done

# Messages of any length.
rm -f served
built/palms broker.sock >served &
server=$!
wait_for '[[ -s served ]] || ! kill -0 $server 2>/dev/null'
read -r node port <served
built/palms broker.sock "$node" "$port" >called
wait $server
grep -qx "an answer of 1000000 bytes" called || { cat called served; exit 1; }
grep -q "^from port [0-9]*, a question: how m|uch is it?$" served || { cat served; exit 1; }
grep -qx "thanks" served || { cat served; exit 1; }
status=0
built/palms broker.sock "$node" "$port" 2>refused || status=$?
[[ $status == 1 ]] && grep -q "takes no connection" refused || { echo "status $status"; cat refused; exit 1; }

printf '[[entitlement]]\nuser = "%s"\n' "$(($(id -u) + 1))" >entitlements.toml
kill $appliance
wait $appliance || { cat log; exit 1; }
"$scratch/moved/bin/stopbit" run appliance.toml 2>log &
appliance=$!
wait_for '[[ -S broker.sock ]]'
status=0
./exchange broker.sock 2>refused || status=$?
[[ $status == 1 ]] && grep -q "ERR_PDID" refused || { echo "status $status"; cat refused; exit 1; }
