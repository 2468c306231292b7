#!/usr/bin/env bash
# systemd takes the unit as it is: unit.sh UNIT_FILE. Status 77: there is no systemd here to ask.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "skipped: there is no systemd-analyze"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# An instance, with a program that is there.
sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$1" >"$folder/stopbit@demo.service"
said=$(systemd-analyze verify --man=no "$folder/stopbit@demo.service" 2>&1 | grep -F "stopbit@" || true)
[[ -z $said ]] || { echo "$said"; exit 1; }
