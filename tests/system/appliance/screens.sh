#!/usr/bin/env bash
# `stopbit top` and the ladder of `stopbit book` in a terminal of 80 columns and 24 rows, which becomes larger: what they
# show, what their keys do, and that the terminal is as before when they end. What top shows is kept as text.
#
#     screens.sh BIN_FOLDER OUTPUT_FOLDER        status 77: no tmux here
set -euo pipefail
bin=$(readlink -f "$1")
mkdir -p "$2"
output=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "tmux" "$@"
make_workplace screens
# The sample, so slowly that it does not end, with its books.
sample=$(readlink -f "$here/../../data/sample")
example=$here/../../../host/appliance/example
sed "s|../../../tests/data/sample|$sample|; s|ring = \"example\"|ring = \"$PWD/ring\"|" "$example/feed.toml" >feed.toml
sed "s|../../../tests/data/sample|$sample|; s|name = \"example\"|name = \"$name\"|; s|~/.local/state/stopbit-example|state|; s|^speed = 1 |speed = 0.02 |" \
  "$example/appliance.toml" >appliance.toml
# And an exchange whose lines lose packets.
use_loopback
cat >sim.toml <<'TOML'
preset = "cme"
seed = 7
duration = "600s"
channels = 2
instruments = 20
rate = 100
heartbeat_every = "100ms"
snapshot_every = "500ms"
[burst]
every = "4s"
packets = 150
gap = "2ms"
[line_a]
group = "239.40.1.1:30001"
interface = "lo"
impair = { loss = 0.01 }
[line_b]
group = "239.40.64.1:31001"
interface = "lo"
[impair_both]
loss = 0.005
TOML
sed 's/^duration.*/duration = "1s"/' sim.toml >short.toml
"$bin/stopbit" simulate short.toml -o /dev/null --write-feed made -q
sed -i "s|^ring = \"|&$PWD/|" made/feed.toml
cat >>appliance.toml <<'TOML'
[[port]]
name = "eth"
interface = "lo"
[[feed]]
file = "made/feed.toml"
a = "eth"
TOML
start_appliance
"$bin/stopbit" simulate sim.toml -q 2>/dev/null &
wait_for '"$bin/stopbit" stat "$name" --json | python3 -c "import json, sys; sys.exit(json.load(sys.stdin)[\"channels\"][0][\"messages\"] < 100)"'

# A tmux of its own, that no file of the user's changes.
mux() { tmux -S "$folder/tmux" -f /dev/null "$@"; }
shown() { mux capture-pane -p -t screen; }
# shellcheck disable=SC2034  # wait_for evaluates it
shows() { local wanted=$1; wait_for 'shown | grep -q -- "$wanted"'; }
press() { mux send-keys -t screen "$@"; }
export LC_ALL=C.UTF-8 TERM=xterm-256color
mux new-session -d -s screen -x 80 -y 24 "sh -c 'PS1=prompt: exec sh -i'"
mux set-option -g default-terminal tmux-256color
trap 'mux kill-server 2>/dev/null || true; end' EXIT
shows "prompt:"

press "$bin/stopbit top $name" Enter
shows "^messages/s *[0-9]"
shows "^channel .* msg/s"
shows "^incremental .*live"
shows "instruments; .* books: "
shows "q quits"
shown >"$output/top.txt"
[[ $(wc -l <"$output/top.txt") == 24 ]] || { echo "not 24 rows"; cat "$output/top.txt"; exit 1; }
awk 'length > 80 { print "wider than 80 columns: " $0; bad = 1 } END { exit bad }' "$output/top.txt"
# The sparkline, in block elements.
wait_for "shown | grep -q '^messages/s.*[▁▂▃▄▅▆▇█]'"
press ">" ">" ">"
shows " MSG/S "
# Some seconds of rates, and a gap.
wait_for "shown | grep -qE '^messages/s.*[▁▂▃▄▅▆▇█]{8}' && shown | grep -qE '^incremental [12] .* [1-9][0-9]* +[1-9][0-9]* +[0-9.]+ .s\$'"
# With its colours, as a picture: a channel that has just lost something is blue.
wait_for "mux capture-pane -e -p -t screen >top.ansi && grep -q '38;5;39mincremental' top.ansi"
sed -i "s/$name/demo/" top.ansi
python3 "$here/../../page/terminal_svg.py" "stopbit top" <top.ansi >"$output/top.svg"
python3 - "$output/top.svg" <<'PYTHON'
import sys
import xml.etree.ElementTree
root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
inks = {one.get("fill") for one in root.iter("{http://www.w3.org/2000/svg}text")}
assert any(text.startswith("incremental") for text in texts) and any("q quits" in text for text in texts), texts
assert len(inks) > 2, inks  # top has colours
PYTHON
press / x x x Enter
shows "no channel's name contains this"
press / BSpace BSpace BSpace i n c Enter
shows "^incremental "
shows "only 'inc'"
press Escape
wait_for '! shown | grep -q "only "'
press "?"
shows "^Keys"
press x
shows "^messages/s"
press Space
shows "(paused)"
press Space
mux resize-window -t screen -x 132 -y 40
wait_for '[[ $(shown | wc -l) == 40 ]]'
shows "^incremental "
press q
shows "prompt:"
! shown | grep -q "msg/s" || { echo "the screen was not given back"; shown; exit 1; }

press "clear; $bin/stopbit book ./ring-events --instrument CEDAR" Enter
shows "CEDAR"
wait_for "shown | grep -q 'bid'"
mux resize-window -t screen -x 60 -y 20
shows "CEDAR"
shown | awk 'length > 60 { print "wider than 60 columns: " $0; bad = 1 } END { exit bad }'
shown >"$output/book.txt"
press q
wait_for '! shown | grep -q " orders "'
# A terminal that is closed ends it.
press "$bin/stopbit top $name" Enter
shows "q quits"
mux kill-session -t screen
wait_for '! pgrep -f "^$bin/stopbit top $name" >/dev/null'
stop_appliance
echo "screens: $output/top.txt, $output/book.txt"
