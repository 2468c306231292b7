#!/usr/bin/env bash
# usage: digests.sh STOPBIT ENGINE [KEPT]
#
# Prints the SHA-256 of everything that replays of the bundled sample and of captures in STOPBIT_CORPUS make: firmware
# image, ring, and each output format. Any two builds, and all engines, must print the same. With KEPT, a file of such lines, exits with 1 if
# one of them has another digest; a capture that is not there is left out.
set -euo pipefail

stopbit=$(realpath "$1")
engine=$2
kept=${3:+$(realpath "$3")}
sample=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../data/sample")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

digest() { printf '%s  %s\n' "$(sha256sum | cut -d' ' -f1)" "$1"; }

# The slots of a ring file. In front of them stand the times and the process of its writer, and the image.
slots() { tail -c "+$(($(od -An -t u8 -j 24 -N 8 "$1") + 1))" "$1"; }

# One reader reads while the ring is written, the others later.
ring_digests() {
  local name=$1 slots=$2 reader
  shift 2
  rm -f "$work/ring"
  "$stopbit" tail "$work/ring" --wait --format csv >"$work/reader-1" 2>"$work/lost" &
  reader=$!
  "$stopbit" replay "$@" --ring "$work/ring" --ring-slots "$slots" --format none --quiet
  wait "$reader" || true
  slots "$work/ring" | digest "$name/ring"
  [[ ! -s $work/lost ]] || return 0  # the ring was too short for a capture of this length: the reader says so
  for reader in 2 3; do "$stopbit" tail "$work/ring" --format csv >"$work/reader-$reader" & done
  wait
  for reader in 1 2 3; do digest "$name/ring-reader-$reader" <"$work/reader-$reader"; done
}

capture_digests() {
  local name=$1 folder=$2 capture=$3 framing=$4 format
  cd "$folder"  # the image names its files as the command line does
  "$stopbit" compile templates.xml -o "$work/$name.sbf" 2>"$work/warnings"
  digest "$name/image" <"$work/$name.sbf"
  local replay=("$capture" --firmware "$work/$name.sbf" --framing "$framing" --engine "$engine")
  for format in jsonl csv fix; do
    "$stopbit" replay "${replay[@]}" --format "$format" --quiet | digest "$name/$format"
  done
  ring_digests "$name" 524288 "${replay[@]}"
  ring_digests "$name/short" 32768 "${replay[@]}" | grep '/ring$'
}

all_digests() {
  (capture_digests sample "$sample" capture.pcap.gz cme)
  [[ -n ${STOPBIT_CORPUS:-} ]] || return 0
  (capture_digests cme-mdp-2012 "$STOPBIT_CORPUS/cme-mdp-2012" capture.pcap cme)
  (capture_digests moex-asts-trades-2019 "$STOPBIT_CORPUS/moex-asts-trades-2019" capture.pcap moex)
  (capture_digests eurex-rdi-2016 "$STOPBIT_CORPUS/eurex-rdi-2016" capture.pcap t7)
  (capture_digests complex30000 "$STOPBIT_CORPUS/complex30000" capture.pcap none)
}

all_digests >"$work/digests"
cat "$work/digests"
[[ -n $kept ]] || exit 0

compared=0 different=0
while read -r sum name; do
  got=$(awk -v name="$name" '$2 == name { print $1 }' "$work/digests")
  [[ -n $got ]] || continue
  compared=$((compared + 1))
  [[ $got == "$sum" ]] && continue
  echo "$name: another digest than in $kept" >&2
  different=$((different + 1))
done <"$kept"
echo "$compared digests compared, $different differ" >&2
((compared > 0 && different == 0))
