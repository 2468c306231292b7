#!/usr/bin/env bash
# Records from a server of STEP, which tears messages, closes, refuses, lies; and from 60 of one process, some of which
# break.
#
#     step.sh BIN_FOLDER        status 77: no network namespaces here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "" "$@"
make_workplace step
use_loopback
python3 -B "$here/step_test.py" "$bin" "$name"
mkdir crowd
(cd crowd && python3 -B "$here/step_crowd_test.py" "$bin" "$name.crowd")
