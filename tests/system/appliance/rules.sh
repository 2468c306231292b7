#!/usr/bin/env bash
# The shipped rules, read and tried by Prometheus' own tool.
#
#     rules.sh RULES.yml        status 77: no promtool here
set -euo pipefail
command -v promtool >/dev/null || { echo "skipped: there is no promtool (Debian package prometheus; `./dev test` unpacks it)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1" "$(dirname "$0")/rules_test.yml" "$folder"
cd "$folder"
promtool check rules stopbit.rules.yml
promtool test rules rules_test.yml
