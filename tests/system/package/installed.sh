#!/usr/bin/env bash
# Inside the copy of the machine: installs the package, uses what it brought, removes it.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
say() { printf '== %s\n' "$*"; }
fail() { echo "$*"; exit 1; }
[[ ! -e /usr/bin/stopbit ]] || fail "this machine has /usr/bin/stopbit already"

# Nobody will search these manual pages: their index is not built anew.
rm -f /var/lib/man-db/auto-update
say "dpkg --install"
dpkg --install "$1"
[[ $(dpkg-query -W -f='${db:Status-Status}' stopbit) == installed ]] || fail "not installed"
(cd / && md5sum --quiet -c /var/lib/dpkg/info/stopbit.md5sums)
getent passwd stopbit >/dev/null || fail "the package did not make its user"

say "the program"
cd /
[[ $(command -v stopbit) == /usr/bin/stopbit ]]
stopbit --version
stopbit run /usr/share/stopbit/example/appliance.toml --check
sed 's/^speed = 1.*/speed = 0/' /usr/share/stopbit/example/appliance.toml >/usr/share/stopbit/example/fast.toml
setpriv --reuid stopbit --regid stopbit --clear-groups stopbit run /usr/share/stopbit/example/fast.toml 2>/tmp/run.log ||
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
(cd /tmp && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import sys; sys.path.insert(0, "/usr/lib/python3/dist-packages"); import stopbit' 2>/tmp/python.log) ||
  echo "the Python module is for another version: $(tail -1 /tmp/python.log)"
[[ -s /usr/share/stopbit/stopbit.rules.yml && -s /usr/share/stopbit/stopbit.dashboard.json ]]
[[ -s /usr/share/doc/stopbit/copyright || -n $(grep -rs 'path-exclude=/usr/share/doc' /etc/dpkg/dpkg.cfg.d) ]] || fail "no copyright"

say "dpkg --purge"
dpkg --purge stopbit
[[ ! -e /usr/bin/stopbit && ! -e /usr/share/stopbit ]] || fail "files stay behind"
say "installed, started, removed"
