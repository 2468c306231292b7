#!/usr/bin/env bash
# Keeps the reader and the segments of this version: keep.sh BUILD, a release build of the commit that is released.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
version=$(sed -n 's/^project(stopbit VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
cmake --build "$build" --target stopbit_compat_keep stopbit_compat_writer
kept=$here/$version
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$kept"
"$build/bin/stopbit_compat_writer" "$scratch"
xz -9ec "$build/bin/stopbit_compat_keep" >"$kept/reader.xz"
for segment in ring books.counters market market.instruments market.state; do xz -9ec "$scratch/$segment" >"$kept/$segment.xz"; done
ls -l "$kept"
