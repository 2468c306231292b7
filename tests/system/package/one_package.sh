#!/usr/bin/env bash
# The package as it was when one had everything: 0.1.0, with the files of all packages of today and the scripts of then.
#
#     one_package.sh FOLDER OUTPUT.deb        FOLDER: with the packages of today
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
for deb in "$1"/stopbit_*.deb "$1"/libstopbit*.deb "$1"/python3-stopbit_*.deb; do dpkg-deb -x "$deb" "$root"; done
mkdir "$root/DEBIAN"
dpkg-deb --ctrl-tarfile "$1"/stopbit_*.deb | tar -x -C "$root/DEBIAN" ./postinst ./prerm ./postrm
echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
cat >"$root/DEBIAN/control" <<'CONTROL'
Package: stopbit
Version: 0.1.0
Architecture: amd64
Maintainer: Stopbit <root@localhost>
Depends: python3
Section: net
Priority: optional
Description: decoder and appliance for FAST market data
CONTROL
dpkg-deb --root-owner-group -Znone --build "$root" "$2" >/dev/null
