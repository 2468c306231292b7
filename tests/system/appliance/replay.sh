#!/usr/bin/env bash
# Messages that are lost on both lines come back from a replay service, which may lie, stall, close, flood; its quota
# outlives the appliance.
#
#     replay.sh BIN_FOLDER DIALECT        status 77: no network namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace replay
use_loopback
python3 -B "$here/replay_test.py" "$bin" "$name" "$2"
