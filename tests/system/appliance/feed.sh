#!/usr/bin/env bash
# Settings of a test that looks at the pages of an appliance: an exchange whose lines lose packets, HTTP, and a channel
# of its own that nobody else sends to. Its names are those of somebody who wants to be on the page as markup.
#
#     feed.sh BIN_FOLDER NAME SENDING_INTERFACE RECEIVING_INTERFACE
set -euo pipefail
cat >odd.xml <<'XML'
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="&lt;img src=x onerror=document.title='broken'&gt;" id="5">
    <string name="&lt;script&gt;document.title='broken'&lt;/script&gt;" id="1"/>
    <uInt32 name="Number" id="2"/>
  </template>
</templates>
XML
"$(dirname "$0")/settings.py" live "$1" --name "$2" --sends "$3" --receives "$4" --rate 2000 --seconds 60 \
  --window 'packets = 1024, time = "20ms"' --line-a 'impair = { loss = 0.01 }' --exchange '[impair_both]
loss = 0.02' --feed "[[image]]
name = \"odd\"
templates = [\"odd.xml\"]
[[channel]]
number = 3
name = \"<b>odd</b>\"
image = \"odd\"
framing = \"cme\"
ring = \"$PWD/odd\"
a = { group = \"239.30.3.1\", port = 30003 }" --head 'silence = "2s"' --appliance '[rings]
slots = 32768
[http]
listen = "127.0.0.1:9464"'
