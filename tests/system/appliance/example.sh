#!/usr/bin/env bash
# Runs the bundled example of published rings as doc/remote-rings.md shows it: over shared memory, over TCP, and in a ring of
# their own, subscribers have what the appliance's ring has; so do readers in C and Python.
#
#     example.sh BIN_FOLDER EXAMPLE_FOLDER TRADES [PYTHON MODULE_FOLDER]     status 77: no namespaces here, or no libfabric
#
# TRADES is the example in C. Without PYTHON the module is not tried.
set -euo pipefail
bin=$(readlink -f "$1")
example=$(readlink -f "$2")
trades=$(readlink -f "$3")
python=("${@:4}")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace example
# Its names are fixed: others may be using them.
mount -t tmpfs tmpfs /dev/shm
ip link set lo up

"$bin/stopbit" run "$example/publish.toml" --check
HOME=$folder "$bin/stopbit" run "$example/publish.toml" -q 2>log &
appliance=$!
wait_for 'grep -q "what=\"started\"" log || ! kill -0 $appliance 2>/dev/null'
kill -0 "$appliance" 2>/dev/null || { grep -q "libfabric" log && { echo "skipped: no libfabric"; exit $kSkipped; }; cat log; exit 1; }

"$bin/stopbit" subscribe fabric://127.0.0.1:7700/sample --ring sample-here --from-start 2>subscribe.log &
subscriber=$!
"$bin/stopbit" tail sample-here --wait >here.jsonl 2>here.log &
reader=$!
"$bin/stopbit" tail shm://example-publisher/sample --from-start >shm.jsonl 2>shm.log &
shm=$!
"$bin/stopbit" tail fabric://127.0.0.1:7700/sample --wait --filter Symbol=ASPEN >filtered.jsonl 2>filtered.log &
filtered=$!
# The lines of a file that are there, and whole.
lines() { wc -l <"$1"; }
wait_for '(($(lines here.jsonl) > 500 && $(lines shm.jsonl) > 500 && $(lines filtered.jsonl) > 20))'
"$bin/stopbit" ready example-publisher
# The other example runs beside it.
sed -E "s#\.\./\.\./\.\./#$example/../../../#; s#^file = \"feed#file = \"$example/feed#; s#^speed = 1.*#speed = 0#" "$example/appliance.toml" >fast.toml
HOME=$folder "$bin/stopbit" run fast.toml -q 2>other.log || { cat other.log; exit 1; }
"$bin/stopbit" tail example | grep -q CEDAR
"$bin/stopbit" stat example-publisher | grep -A9 "^Subscribers" | grep -q "fabric"
kill -TERM "$appliance"
for process in shm filtered reader; do
  wait_for '! kill -0 ${!process} 2>/dev/null'
done
wait "$appliance" || { cat log; exit 1; }
kill -TERM "$subscriber"
wait "$subscriber" || { cat subscribe.log; exit 1; }
"$bin/stopbit" tail example-publisher >local.jsonl
cmp local.jsonl here.jsonl
cmp local.jsonl shm.jsonl
# Whatever reads the appliance's ring reads the subscriber's.
"$trades" example-publisher >local.trades
"$trades" sample-here >here.trades
cmp local.trades here.trades
grep -q CEDAR here.trades || { cat here.trades; exit 1; }
((${#python[@]} == 0)) || PYTHONPATH=${python[1]} "${python[0]}" -B - <<'PYTHON'
import decimal
import json
import stopbit

records = list(stopbit.ring("sample-here"))
assert records == [json.loads(line, parse_float=decimal.Decimal) for line in open("local.jsonl")], len(records)
PYTHON
if grep -v ASPEN filtered.jsonl | grep -v '"event"'; then echo "records without ASPEN came through the filter"; exit 1; fi
echo "$(lines local.jsonl) records, of which $(lines filtered.jsonl) are filtered ones"
left=$(ls "$rings")
[[ $left == "$(printf '%s\n' example example-events example-events.instruments example-events.state example-publisher example-publisher.counters example.counters sample-here)" ]] || { echo "left over: $left"; exit 1; }
