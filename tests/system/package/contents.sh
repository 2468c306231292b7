#!/usr/bin/env bash
# Name, version, size of the file, size installed and what each package depends on.
#
#     contents.sh PACKAGE.deb...
set -euo pipefail
printf '%-22s %10s %10s  %s\n' package "file, B" "installed" "depends on"
for deb in "$@"; do
  printf '%-22s %10d %8d K  %s\n' "$(dpkg-deb -f "$deb" Package)" "$(stat -c %s "$deb")" \
    "$(dpkg-deb -f "$deb" Installed-Size)" "$(dpkg-deb -f "$deb" Depends)"
done
