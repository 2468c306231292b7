#!/usr/bin/env bash
# The example in Go says what the one in C does, of a capture, and half of it of a feed whose lines are merged.
#
#     go.sh EXAMPLES_FOLDER C_LIBRARY_FOLDER C_HEADER_FOLDER SAMPLE_FOLDER FEED.toml TRADES_IN_C SCRATCH   status 77: no go
set -euo pipefail
examples=$1 library=$2 headers=$3 sample=$4 feed=$5 trades=$6 scratch=$7
command -v go >/dev/null || { echo "skipped: there is no go; Debian's package is golang-go"; exit 77; }
mkdir -p "$scratch"
# Nothing is downloaded: the standard library alone. The cache is this build's.
export GO111MODULE=off GOFLAGS='' GOCACHE=$scratch/cache CGO_CFLAGS=-I$headers CGO_LDFLAGS=-L$library
[[ -z $(gofmt -l "$examples/go") ]] || { gofmt -d "$examples/go"; exit 1; }
go vet "$examples/go/trades.go"
go build -o "$scratch/trades" "$examples/go/trades.go"
export LD_LIBRARY_PATH=$library
"$(dirname "$0")/same_trades.sh" "$trades" "$sample" "$feed" "$scratch" "$scratch/trades"
