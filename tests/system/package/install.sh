#!/usr/bin/env bash
# Makes the Debian packages and installs them for real, with dpkg, in a copy of this machine that is gone afterwards: an
# overlay over its root, in namespaces of its own. First comes the one package of which they were made, with settings and
# state, which the upgrade keeps. There the installed program runs the installed example as the user that the package
# made, and manual pages, completion and unit are looked at. Packed twice, the packages are the same, byte by byte.
#
#     install.sh CPACK BUILD_FOLDER OUTPUT_FOLDER        status 77: no Debian, not root, or no overlay here
set -euo pipefail
readonly kSkipped=77
here=$(dirname "$(readlink -f "$0")")

for tool in dpkg-deb dpkg-shlibdeps unshare setpriv gzip; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit $kSkipped; }
done
[[ $(id -u) == 0 ]] || { echo "skipped: wants root"; exit $kSkipped; }

if [[ ${1:-} != inside ]]; then
  cpack=$1 build=$2 output=$3
  if grep -q '^STOPBIT_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
    echo "skipped: a build with sanitizers is not packaged"
    exit $kSkipped
  fi
  for round in first second; do
    rm -rf "${output:?}/$round"
    mkdir -p "$output/$round"
    (cd "$build" && "$cpack" -G DEB -B "$output/$round") >"$output/cpack.log" 2>&1 || { cat "$output/cpack.log"; exit 1; }
  done
  debs=("$output"/first/*.deb)
  for deb in "$output"/first/*.d*eb; do
    cmp "$deb" "$output/second/${deb##*/}" || { echo "packed twice, ${deb##*/} differs"; exit 1; }
  done
  for deb in "$output"/first/*.ddeb; do
    # Checksums are of paths in the package, not on this machine.
    dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./md5sums | grep -vE '^[0-9a-f]{32}  usr/lib/debug/' && { echo "${deb##*/} has other paths"; exit 1; }
  done
  "$here/contents.sh" "${debs[@]}" | tee "$output/packages.txt"
  python3 "$here/container_test.py" "$here/../../../Containerfile" "${debs[@]}"
  if command -v lintian >/dev/null; then
    lintian --allow-root --tag-display-limit 0 "${debs[@]}" >"$output/lintian.log" 2>&1 || true
    # Warnings, too. What it complains of depends on its version: a finding fails where the known ones were recorded.
    found=$(grep '^[EW]: ' "$output/lintian.log" | grep -vE "$(grep -v '^#' "$here/lintian-known.txt" | paste -sd '|')" || true)
    [[ -z $found ]] || { printf 'lintian %s:\n%s\n' "$(lintian --print-version)" "$found"; [[ $(lintian --print-version) != 2.116.3* ]] || exit 1; }
  else
    echo "there is no lintian: not looked at"
  fi
  mapfile -t debs < <(readlink -f "${debs[@]}")
  exec unshare --mount --net --pid --fork --ipc "$0" inside "${debs[@]}"
fi

debs=("${@:2}")
mkdir -p /mnt
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root 2>/dev/null ||
  { echo "skipped: no overlay file system"; exit $kSkipped; }
mkdir /mnt/root/packages
cp "${debs[@]}" /mnt/root/packages/
mount -t proc proc /mnt/root/proc
mount --bind /dev /mnt/root/dev
mkdir -p /mnt/root/dev/shm
mount -t tmpfs tmpfs /mnt/root/dev/shm -o mode=1777
mount -t tmpfs tmpfs /mnt/root/tmp -o mode=1777
mount -t tmpfs tmpfs /mnt/root/run
cp "$here/installed.sh" "$here/one_package.sh" /mnt/root/tmp/
exec chroot /mnt/root /tmp/installed.sh /packages
