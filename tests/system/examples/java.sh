#!/usr/bin/env bash
# The example in Java says what the one in C does, of a capture, and half of it of a feed whose lines are merged. It is for
# the foreign-function interface of JDK 17, which later ones do not have.
#
#     java.sh EXAMPLES_FOLDER C_LIBRARY_FOLDER SAMPLE_FOLDER FEED.toml TRADES_IN_C SCRATCH     status 77: no JDK 17
set -euo pipefail
examples=$1 library=$2 sample=$3 feed=$4 trades=$5 scratch=$6
{ command -v java && command -v javac; } >/dev/null || { echo "skipped: there is no JDK; Debian's package is openjdk-17-jdk-headless"; exit 77; }
java --list-modules | grep -q '^jdk.incubator.foreign@17' || { echo "skipped: this is no JDK 17"; exit 77; }
mkdir -p "$scratch"
scratch=$(readlink -f "$scratch")
javac -Xlint:all --add-modules jdk.incubator.foreign -d "$scratch" "$examples/java/Trades.java" 2>"$scratch/warnings" ||
  { cat "$scratch/warnings"; exit 1; }
# One is always there: that the module is an incubator's.
if grep -v "incubating module\|^1 warning$" "$scratch/warnings"; then exit 1; fi
cat >"$scratch/trades" <<SCRIPT
#!/bin/sh
exec java --add-modules jdk.incubator.foreign --enable-native-access=ALL-UNNAMED -XX:ErrorFile=$scratch/crash.log \
  -Dstopbit=$library/libstopbit.so -cp $scratch Trades "\$@"
SCRIPT
chmod +x "$scratch/trades"
"$(dirname "$0")/same_trades.sh" "$trades" "$sample" "$feed" "$scratch" "$scratch/trades"
