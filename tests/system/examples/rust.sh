#!/usr/bin/env bash
# The example in Rust says what the one in C does, of a capture, and half of it of a feed whose lines are merged.
#
#     rust.sh EXAMPLES_FOLDER C_LIBRARY_FOLDER SAMPLE_FOLDER FEED.toml TRADES_IN_C SCRATCH     status 77: no rustc
set -euo pipefail
examples=$1 library=$2 sample=$3 feed=$4 trades=$5 scratch=$6
command -v rustc >/dev/null || { echo "skipped: there is no rustc"; exit 77; }
mkdir -p "$scratch"
rustc -O -D warnings "$examples/rust/trades.rs" -L "native=$library" -l stopbit -o "$scratch/trades"
export LD_LIBRARY_PATH=$library
"$trades" "$sample/capture.pcap.gz" "$sample/templates.xml" cme >"$scratch/of_c"
"$scratch/trades" "$sample/capture.pcap.gz" "$sample/templates.xml" cme >"$scratch/of_rust"
cmp "$scratch/of_c" "$scratch/of_rust"
(($(wc -l <"$scratch/of_rust") > 10))
"$scratch/trades" "$sample/capture.pcap.gz" "$feed" >"$scratch/of_feed"
trades() { awk '{n += $2} END {print n}' "$1"; }
# A trade that came on both lines counts once; a few came on one only.
both=$(trades "$scratch/of_rust") merged=$(trades "$scratch/of_feed")
((2 * merged > both - both / 50 && 2 * merged < both + both / 50)) || { echo "$merged trades of $both"; exit 1; }
status=0
"$scratch/trades" none "$feed" 2>"$scratch/error" || status=$?
((status == 1)) && grep -q "none: No such file" "$scratch/error"
