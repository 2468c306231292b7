#!/usr/bin/env bash
# Makes the Debian package and installs it for real, with dpkg, in a copy of this machine that is gone afterwards: an
# overlay over its root, in namespaces of its own. There the installed program runs the installed example as the user
# that the package made, and manual pages, completion and unit are looked at.
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
  mkdir -p "$output"
  rm -f "$output"/*.deb
  (cd "$build" && "$cpack" -G DEB -B "$output") >"$output/cpack.log" 2>&1 || { cat "$output/cpack.log"; exit 1; }
  deb=$(readlink -f "$output"/*.deb)
  if command -v lintian >/dev/null; then
    lintian --allow-root --tag-display-limit 0 "$deb" >"$output/lintian.log" 2>&1 || true
    # To be read by people: what it complains of depends on its version.
    grep '^E: ' "$output/lintian.log" | grep -vE "$(grep -v '^#' "$here/lintian-known.txt" | paste -sd '|')" || true
  fi
  exec unshare --mount --net --pid --fork --ipc "$0" inside "$deb"
fi

deb=$2
mkdir -p /mnt
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root 2>/dev/null ||
  { echo "skipped: no overlay file system"; exit $kSkipped; }
cp "$deb" /mnt/root/stopbit.deb
mount -t proc proc /mnt/root/proc
mount --bind /dev /mnt/root/dev
mkdir -p /mnt/root/dev/shm
mount -t tmpfs tmpfs /mnt/root/dev/shm -o mode=1777
mount -t tmpfs tmpfs /mnt/root/tmp -o mode=1777
mount -t tmpfs tmpfs /mnt/root/run
cp "$here/installed.sh" /mnt/root/tmp/installed.sh
exec chroot /mnt/root /tmp/installed.sh /stopbit.deb
