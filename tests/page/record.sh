#!/usr/bin/env bash
# Makes answers/answers.json anew: two simulated exchanges play into an appliance that records, for some minutes, and what
# it answers its page is kept. Not a test: screens.py shows these answers, so that the page looks the same each time.
#
#     record.sh BIN_FOLDER OUTPUT_FOLDER MINUTES
set -euo pipefail
bin=$(readlink -f "$1")
mkdir -p "$2"
output=$(readlink -f "$2")
minutes=$3
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=../system/appliance/wire.bash
. "$here/../system/appliance/wire.bash"
enter_namespace "" "$@"
make_workplace demo
use_loopback

line() { printf '[line_%s]\ngroup = "%s"\ninterface = "lo"\nimpair = { %s }\n' "$@"; }
{
  printf 'seed = 11\nduration = "%ss"\nchannels = 1\ninstruments = 12\nrate = 250\nsnapshot_every = "1s"\n' $((60 * minutes + 300))
  printf 'heartbeat_every = "500ms"\nskew = "30us"\n[market]\nexchange = "t7"\ndepth = 10\n[burst]\nevery = "40s"\npackets = 400\ngap = "20us"\n'
  line a 239.30.1.1:30001 'loss = 0.0004, loss_burst = 3, reorder = 0.001, reorder_depth = 2'
  line b 239.30.64.1:31001 'loss = 0.0002'
  printf '[impair_both]\nloss = 0.00001\nloss_burst = 2\n'
} >market.toml
{
  printf 'preset = "cme"\nseed = 7\nduration = "%ss"\nchannels = 2\ninstruments = 20\nrate = 150\nsnapshot_every = "1s"\n' $((60 * minutes + 300))
  printf 'heartbeat_every = "100ms"\nskew = "20us"\n'
  line a 239.40.1.1:30001 'loss = 0.0002, corrupt = 0.00002'
  line b 239.40.64.1:31001 "loss = 0.0001, dies_at = $((3600 * minutes)), returns_at = $((4200 * minutes))"
  printf '[impair_both]\nloss = 0.00001\n'
} >futures.toml
for feed in market futures; do
  sed 's/^duration.*/duration = "1s"/; s/, dies_at.* }/ }/' $feed.toml >short.toml
  "$bin/stopbit" simulate short.toml -o /dev/null --write-feed $feed -q
done
cat >appliance.toml <<TOML
name = "$name"
state = "state"
[books]
levels = 10
[recorder]
folder = "packets"
file = "16MiB"
line = "256MiB"
[http]
listen = "127.0.0.1:9464"
[[agent]]
name = "md"
idle = "sleep"
[[port]]
name = "eth"
interface = "lo"
[[feed]]
file = "market/feed.toml"
a = "eth"
[[feed]]
file = "futures/feed.toml"
a = "eth"
TOML
start_appliance
"$bin/stopbit" simulate market.toml -q 2>market.log &
"$bin/stopbit" simulate futures.toml -q 2>futures.log &
sleep $((60 * minutes))
python3 "$here/answers_of.py" http://127.0.0.1:9464 "$output" --name "demo"
stop_appliance
