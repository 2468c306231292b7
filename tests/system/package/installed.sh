#!/usr/bin/env bash
# Inside the copy of the machine: installs the packages of a folder, uses what they brought, removes them.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
say() { printf '== %s\n' "$*"; }
fail() { echo "$*"; exit 1; }
[[ ! -e /usr/bin/stopbit ]] || fail "this machine has /usr/bin/stopbit already"

# Nobody will search these manual pages: their index is not built anew.
rm -f /var/lib/man-db/auto-update
folder=$1
names=()
for deb in "$folder"/*.deb; do names+=("$(dpkg-deb -f "$deb" Package)"); done

say "an upgrade of the one package that had everything keeps settings and state"
/tmp/one_package.sh "$folder" /tmp/one.deb
dpkg --install /tmp/one.deb
mkdir -p /etc/stopbit/fx /var/lib/stopbit/fx
sed 's/^name = "example".*/name = "fx"/; s|^state = .*|state = "/var/lib/stopbit/fx"|; s/^speed = 1.*/speed = 0/; s|file = "feed.toml"|file = "/usr/share/stopbit/example/feed.toml"|; s|^file = "capture|file = "/usr/share/stopbit/example/capture|' \
  /usr/share/stopbit/example/appliance.toml >/etc/stopbit/fx/appliance.toml
chown -R stopbit: /var/lib/stopbit/fx
user=$(getent passwd stopbit)
install -d -o stopbit -g stopbit /tmp/home-of-stopbit
as_stopbit() { HOME=/tmp/home-of-stopbit setpriv --reuid stopbit --regid stopbit --clear-groups "$@"; }
as_stopbit stopbit run /etc/stopbit/fx/appliance.toml 2>/tmp/run.log || fail "$(cat /tmp/run.log)"
kept() { (cd / && find etc/stopbit var/lib/stopbit -type f -print0 | sort -z | xargs -0 sha256sum; stat -c '%n %U %a' etc/stopbit/fx var/lib/stopbit/fx); }
kept >/tmp/first.txt
(($(grep -c var/lib/stopbit /tmp/first.txt) > 1)) || fail "the appliance has left no state: $(cat /tmp/first.txt)"
say "dpkg --install"
# As apt does.
dpkg --install --auto-deconfigure "$folder"/*.deb
kept | diff /tmp/first.txt - || fail "the upgrade has changed settings or state"
[[ $(getent passwd stopbit) == "$user" ]] || fail "the upgrade has changed the user"
as_stopbit stopbit run /etc/stopbit/fx/appliance.toml 2>/tmp/run.log && grep -q 'what="stopped"' /tmp/run.log ||
  fail "$(cat /tmp/run.log)"
for name in "${names[@]}"; do
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$name") == installed ]] || fail "$name is not installed"
  (cd / && md5sum --quiet -c "$(ls /var/lib/dpkg/info/"$name"{,:*}.md5sums 2>/dev/null | head -1)")
done
getent passwd stopbit >/dev/null || fail "the package did not make its user"

say "the program"
cd /
[[ $(command -v stopbit) == /usr/bin/stopbit ]]
stopbit --version
stopbit run /usr/share/stopbit/example/appliance.toml --check
sed 's/^speed = 1.*/speed = 0/' /usr/share/stopbit/example/appliance.toml >/usr/share/stopbit/example/fast.toml
as_stopbit stopbit run /usr/share/stopbit/example/fast.toml 2>/tmp/run.log ||
  { cat /tmp/run.log; exit 1; }
rm /usr/share/stopbit/example/fast.toml
grep -q 'what="started"' /tmp/run.log && grep -q 'what="stopped"' /tmp/run.log || fail "$(cat /tmp/run.log)"
stopbit stat example --json >/tmp/stat.json
python3 - <<'PYTHON'
import json
status = json.load(open("/tmp/stat.json"))
channel = status["channels"][0]
assert channel["messages"] > 0 and channel["decode_errors"] == 0, channel
print(channel["messages"], "messages decoded by the installed program")
PYTHON

say "the process of libfabric"
status=0
/usr/libexec/stopbit/stopbit-fabric 2>/tmp/fabric.log || status=$?
((status == 2)) && grep -q "only stopbit can start it" /tmp/fabric.log || fail "stopbit-fabric: status $status, $(cat /tmp/fabric.log)"
status=0
stopbit tail fabric://127.0.0.1:9/none >/dev/null 2>/tmp/subscribe.log || status=$?
((status == 3)) && grep -q "cannot reach '127.0.0.1:9'" /tmp/subscribe.log && ! grep -q "stopbit-fabric" /tmp/subscribe.log ||
  fail "tail: status $status, $(cat /tmp/subscribe.log)"

say "the provider of libfabric"
provider=$(find /usr/lib -name libstopbit-fi.so | head -1)
[[ -f $provider ]] || fail "the packages have no libstopbit-fi.so"
! ldd "$provider" | grep "not found" || fail "a library of $provider is missing"
[[ $(nm -D --defined-only "$provider" | awk '$2 == "T" { print $3 }') == fi_prov_ini ]] || fail "$provider exports more than its entry"

say "manual pages"
[[ -z $(find /usr/share/man/man[157] -name 'stopbit*.[157]') ]] || fail "manual pages are not compressed"
for page in stopbit.1 stopbit-run.1 stopbit-replay.1 stopbit-explain.1 stopbit-{appliance,feed,map}.toml.5 stopbit-nic.7; do
  zcat /usr/share/man/man${page##*.}/$page.gz >/tmp/$page || fail "no manual page $page"
  grep -q '^\.TH' /tmp/$page || fail "$page is no manual page"
  if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -ww /tmp/$page 2>&1 >/dev/null)
    [[ -z $warnings ]] || fail "$page: $warnings"
  fi
done
[[ $(find /usr/share/man/man1 -name 'stopbit*.1.gz' | wc -l) -gt 20 ]] || fail "too few manual pages"
for kind in appliance feed map; do
  python3 -m json.tool /usr/share/stopbit/schema/$kind.schema.json >/dev/null || fail "no JSON schema of $kind"
done

say "completion"
words=$(bash -c '
  [[ ! -r /usr/share/bash-completion/bash_completion ]] || . /usr/share/bash-completion/bash_completion
  . /usr/share/bash-completion/completions/stopbit
  how=$(complete -p stopbit) || exit 1
  function=$(sed -E "s/.*-F ([^ ]+).*/\1/" <<<"$how")
  COMP_WORDS=(stopbit re) COMP_CWORD=1 COMP_LINE="stopbit re" COMP_POINT=10
  $function stopbit re stopbit
  printf "%s\n" "${COMPREPLY[@]}"')
grep -q replay <<<"$words" && grep -q ready <<<"$words" || fail "completion of 're' gives: $words"

say "unit, library, rules"
grep -q '^ExecStart=/usr/bin/stopbit run ' /usr/lib/systemd/system/stopbit@.service /lib/systemd/system/stopbit@.service ||
  fail "the unit starts another program"
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify /usr/lib/systemd/system/stopbit@.service /usr/lib/systemd/system/stopbit-frozen@.timer \
    /usr/lib/systemd/system/stopbit-frozen@.service 2>&1 | grep -i stopbit && fail "systemd complains" || true
fi
[[ $(ldconfig -p) == *libstopbit.so* ]] || fail "the library is not found"
(cd /tmp && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import stopbit; assert stopbit.__file__.startswith("/usr/lib/python3"), stopbit.__file__') ||
  fail "the Python module cannot be imported"
cat >/tmp/version.c <<'C'
#include <stdio.h>
#include <stopbit.h>
int main(void) { return puts(stopbit_version()) < 0; }
C
if command -v gcc >/dev/null; then
  gcc /tmp/version.c -o /tmp/version $(pkg-config --cflags --libs stopbit) && /tmp/version >/dev/null || fail "a C program cannot be built"
fi
[[ $(stopbit --version) == *"features: dpdk libfabric nats kafka xrt"* ]] || fail "features are missing: $(stopbit --version)"
# Another file than a kernel: that is known only when XRT has been loaded.
on_card() {
  status=0
  STOPBIT_SIM_FEED=/nowhere stopbit replay /usr/share/stopbit/example/capture.pcap.gz --framing cme --limit 1 \
    --templates /usr/share/stopbit/example/templates.xml --engine xrt --xclbin /etc/passwd >/dev/null 2>/tmp/xrt.log || status=$?
  ((status == 3)) || fail "without a card: status $status, $(cat /tmp/xrt.log)"
}
stopbit replay /usr/share/stopbit/example/capture.pcap.gz --framing cme --limit 5 \
  --templates /usr/share/stopbit/example/templates.xml --engine card --device sim --no-fallback >/tmp/card.jsonl ||
  fail "the simulated card of VFIO does not decode"
[[ -s /tmp/card.jsonl ]] || fail "the simulated card of VFIO decodes nothing"
on_card
if grep -q "need the package" /tmp/xrt.log; then fail "$(cat /tmp/xrt.log)"; fi
dpkg --remove stopbit-xrt
on_card
grep -q "cards need the package stopbit-xrt" /tmp/xrt.log || fail "$(cat /tmp/xrt.log)"
[[ -s /usr/share/doc/stopbit-doc/doc/tour.md || -n $(grep -rs 'path-exclude=/usr/share/doc' /etc/dpkg/dpkg.cfg.d) ]] || fail "no documentation"
[[ -s /usr/share/stopbit/stopbit.rules.yml && -s /usr/share/stopbit/stopbit.dashboard.json ]]
[[ -s /usr/share/doc/stopbit/copyright || -n $(grep -rs 'path-exclude=/usr/share/doc' /etc/dpkg/dpkg.cfg.d) ]] || fail "no copyright"

say "dpkg --purge"
kept >/tmp/before.txt
dpkg --purge "${names[@]}"
[[ ! -e /usr/bin/stopbit && ! -e /usr/share/stopbit && ! -e /usr/lib/stopbit && ! -e /usr/include/stopbit ]] || fail "files remain"
kept | diff /tmp/before.txt - || fail "settings or state are gone"
say "installed, upgraded, started, removed"
