#!/usr/bin/env bash
# Writes into the current folder what a test of a whole appliance needs: an exchange whose lines lose packets, and an
# appliance with HTTP that listens to it, and to a channel of its own that nobody else sends to. Its names are those of
# somebody who wants to be on the page as markup.
#
#     feed.sh NAME SENDING_INTERFACE RECEIVING_INTERFACE
set -euo pipefail
readonly name=$1 sends=$2 receives=$3
cat >sim.toml <<TOML
preset = "cme"
seed = 7
duration = "60s"
channels = 1
instruments = 20
rate = 2000
heartbeat_every = "100ms"
[impair_both]
loss = 0.02
[line_a]
group = "239.30.1.1:30001"
interface = "$sends"
impair = { loss = 0.01 }
[line_b]
group = "239.30.2.1:31001"
interface = "$sends"
TOML
cat >odd.xml <<'XML'
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="&lt;img src=x onerror=document.title='broken'&gt;" id="5">
    <string name="&lt;script&gt;document.title='broken'&lt;/script&gt;" id="1"/>
    <uInt32 name="Number" id="2"/>
  </template>
</templates>
XML
cat >feed.toml <<TOML
name = "live"
[[image]]
name = "cme"
templates = ["simulated/cme.xml"]
[[image]]
name = "odd"
templates = ["odd.xml"]
[[channel]]
number = 1
name = "incremental"
image = "cme"
framing = "cme"
ring = "$PWD/ring"
window = { packets = 1024, time = "20ms" }
a = { group = "239.30.1.1", port = 30001 }
b = { group = "239.30.2.1", port = 31001 }
[[channel]]
number = 3
name = "<b>odd</b>"
image = "odd"
framing = "cme"
ring = "$PWD/odd"
a = { group = "239.30.3.1", port = 30003 }
TOML
cat >appliance.toml <<TOML
name = "$name"
state = "state"
silence = "2s"
[rings]
slots = 32768
[http]
listen = "127.0.0.1:9464"
[[agent]]
name = "md"
[[port]]
name = "wire"
interface = "$receives"
[[feed]]
file = "feed.toml"
a = "wire"
TOML
