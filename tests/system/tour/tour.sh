#!/usr/bin/env bash
# Runs every command of doc/tour.md, in order, as a new user would: in a network, a home and a shared memory of its own.
#
#     tour.sh BUILD_FOLDER SOURCE_FOLDER PYTHON     status 77: no namespaces here, or a tool is missing
set -euo pipefail
build=$(readlink -f "$1")
source=$(readlink -f "$2")
python=$3
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=../appliance/wire.bash
. "$here/../appliance/wire.bash"
enter_namespace "curl cmake" "$@"
make_workplace tour
mount -t tmpfs tmpfs /dev/shm
mounts+=(/dev/shm)
use_loopback
# A clone that was built: everything in it but what this build has elsewhere.
mkdir -p clone/build home tools
ln -s "$python" tools/python3  # for which the module is built
for entry in "$source"/*; do
  [[ ${entry##*/} == build ]] || ln -s "$entry" clone/
done
ln -s "$build" clone/build/release
cd clone
HOME=$folder/home PATH=$folder/tools:$PATH python3 -B "$here/tour_test.py" "$source/doc/tour.md"
