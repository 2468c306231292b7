#!/usr/bin/env bash
# Two appliances on the same feeds, each killed, stopped and started again in turn: a reader of both gets each message
# once.
#
#     standby.sh BIN_FOLDER        status 77: no network namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace standby
use_loopback
mount -t tmpfs -o mode=1777,size=256m tmpfs /dev/shm  # the appliances of other tests are not seen
python3 -B "$here/standby_test.py" "$bin" "$name"
