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
"$(dirname "$0")/same_trades.sh" "$trades" "$sample" "$feed" "$scratch" "$scratch/trades"
