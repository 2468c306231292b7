#!/usr/bin/env bash
# An example in another language says what the one in C does, of a capture, and half of it of a feed whose lines are merged.
#
#     same_trades.sh TRADES_IN_C SAMPLE_FOLDER FEED.toml SCRATCH EXAMPLE
set -euo pipefail
trades=$1 sample=$2 feed=$3 scratch=$4 example=$5
"$trades" "$sample/capture.pcap.gz" "$sample/templates.xml" cme >"$scratch/of_c"
"$example" "$sample/capture.pcap.gz" "$sample/templates.xml" cme >"$scratch/of_example"
cmp "$scratch/of_c" "$scratch/of_example"
(($(wc -l <"$scratch/of_example") > 10))
"$example" "$sample/capture.pcap.gz" "$feed" >"$scratch/of_feed"
count() { awk '{n += $2} END {print n}' "$1"; }
# A trade that came on both lines counts once; a few came on one only.
both=$(count "$scratch/of_example") merged=$(count "$scratch/of_feed")
((2 * merged > both - both / 50 && 2 * merged < both + both / 50)) || { echo "$merged trades of $both"; exit 1; }
status=0
"$example" none "$feed" 2>"$scratch/error" || status=$?
((status == 1)) && grep -q "none: No such file" "$scratch/error"
