#!/usr/bin/env bash
# The unit: systemd takes it as it is, its exposure is at most 2.0, and the program starts, confines itself and publishes
# under its filter of system calls. Status 77: there is no systemd here to ask.
#
#     unit.sh UNIT_FILE BIN_FOLDER EXAMPLE_FOLDER
set -euo pipefail
readonly kMostExposure=20  # tenths
unit=$(readlink -f "$1")
bin=$(readlink -f "$2")
example=$(readlink -f "$3")
here=$(dirname "$(readlink -f "$0")")
fail() { echo "$*"; exit 1; }
command -v systemd-analyze >/dev/null || { echo "skipped: there is no systemd-analyze"; exit 77; }
folder=$(mktemp -d)
name=unit-$$
# shellcheck disable=SC2329  # the trap calls it
end() {
  local left
  left=$(jobs -pr)
  # shellcheck disable=SC2086  # numbers
  [[ -z $left ]] || kill -9 $left 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$folder" "/dev/shm/stopbit-$(id -u)/$name"*
}
trap end EXIT
cd "$folder"

# An instance, with a program that is there.
sed -E 's#^(ExecStart|ExecStartPre)=[^ ]*#\1=/bin/true#' "$unit" >"stopbit@demo.service"
said=$(systemd-analyze verify --man=no "$folder/stopbit@demo.service" 2>&1 | grep -F "stopbit@" || true)
[[ -z $said ]] || fail "$said"
for line in Type=notify 'WatchdogSec=[1-9]' 'ExecStartPre=.* --check$' StartLimitIntervalSec=0 PrivateDevices=yes \
  ProtectProc=invisible SystemCallFilter=@; do
  grep -Eq "^$line" "$unit" || fail "the unit has no $line"
done

# The daily care of frozen recordings.
sed -E 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' "$(dirname "$unit")/stopbit-frozen@.service" >"stopbit-frozen@demo.service"
cp "$here/../../../host/cli/packaging/stopbit-frozen@.timer" "stopbit-frozen@demo.timer"
said=$(systemd-analyze verify --man=no "$folder"/stopbit-frozen@demo.* 2>&1 | grep -F "stopbit-frozen" || true)
[[ -z $said ]] || fail "$said"
grep -q '^ExecReload=' "$unit" || fail "the unit has no ExecReload"

security() { systemd-analyze security --offline=true --no-pager "$folder/stopbit@demo.service"; }
if security >security.txt 2>/dev/null; then
  exposure=$(sed -nE 's/.*Overall exposure level.*: ([0-9]+)\.([0-9]).*/\1\2/p' security.txt)
  [[ -n $exposure ]] || fail "$(tail -1 security.txt)"
  ((10#$exposure <= kMostExposure)) || { grep '^✗' security.txt; fail "exposure ${exposure:0:1}.${exposure:1}"; }
  echo "exposure ${exposure:0:1}.${exposure:1}"
else
  echo "this systemd does not rate units"
fi

# Sanitizers make calls of their own.
python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null || { echo "no libseccomp: the filter was not tried"; exit 0; }
[[ -z ${ASAN_OPTIONS:-}${STOPBIT_SANITIZE:-} ]] || { echo "sanitizers: the filter was not tried"; exit 0; }
cp -r "$example" example
sed -i -E "s#\.\./\.\./\.\./#$example/../../../#; s#^name = \"example.*#name = \"$name\"#; s#^state = .*#state = \"$folder/state\"#;
  s#^speed = .*#speed = 0#; s#^listen = .*#listen = \"127.0.0.1:0\"#; s#^ring = \"example.*#ring = \"$name\"#" example/*.toml
sed -i -E 's#^name = .*#name = "sample"#' example/*feed.toml
"$here/under_unit.py" "$unit" "$bin/stopbit" run example/appliance.toml --quiet 2>log || { cat log; fail "it does not run under the filter"; }
! grep -E 'not confined|level=error' log || fail "the filter is in the way"
grep -q 'what="stopped"' log || { cat log; fail "it did not end as it should"; }
echo "it runs under the filter of the unit"
