#!/usr/bin/env python3
"""An appliance that takes a feed from a server of STEP, in a network namespace of its own.

    step_test.py BIN_FOLDER NAME
"""

import atexit
import json
import os
import random
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import step_server  # noqa: E402  (it is beside this file)
from trial import PATIENCE, Trial, read, write  # noqa: E402

NAME = sys.argv[2]
TRIAL = Trial(sys.argv[1], NAME)
SERVER = ("127.0.0.1", 9129)
RNG = random.Random(20261129)

# Of the shape that Shenzhen's have; with a corpus, those themselves are taken.
TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template id="4201" name="TickOrder">
    <uInt32 id="10201" name="ChannelNo"><copy dictionary="global" key="10201"/></uInt32>
    <int64 id="1181" name="ApplSeqNum"><increment dictionary="global" key="1181"/></int64>
    <string id="1500" name="MDStreamID"><copy dictionary="global" key="1500"/></string>
    <string id="48" name="SecurityID"/><string id="22" name="SecurityIDSource"/>
    <int64 id="44" name="Price"/><int64 id="38" name="OrderQty"/><string id="54" name="Side"/>
    <string id="40" name="OrdType" presence="optional"/>
    <int64 id="60" name="TransacTime"><delta dictionary="global" key="60"/></int64>
  </template>
  <template id="4202" name="TickExecution">
    <uInt32 id="10201" name="ChannelNo"><copy dictionary="global" key="10201"/></uInt32>
    <int64 id="1181" name="ApplSeqNum"><increment dictionary="global" key="1181"/></int64>
    <string id="1500" name="MDStreamID"><copy dictionary="global" key="1500"/></string>
    <int64 id="10116" name="BidApplSeqNum" presence="optional"/>
    <int64 id="10117" name="OfferApplSeqNum" presence="optional"/>
    <string id="48" name="SecurityID"/><string id="22" name="SecurityIDSource"/>
    <int64 id="31" name="LastPx" presence="optional"/><int64 id="32" name="LastQty"/><string id="150" name="ExecType"/>
    <int64 id="60" name="TransacTime"><delta dictionary="global" key="60"/></int64>
  </template>
  <template id="4101" name="Snapshot">
    <int64 id="42" name="OrigTime"><delta dictionary="global" key="42"/></int64>
    <uInt32 id="10201" name="ChannelNo"><copy dictionary="global" key="10201"/></uInt32>
    <string id="1500" name="MDStreamID"><copy dictionary="global" key="1500"/></string>
    <string id="48" name="SecurityID"/><string id="22" name="SecurityIDSource"/>
    <string id="8538" name="TradingPhaseCode"><copy dictionary="global" key="8538"/></string>
    <int64 id="140" name="PreClosePx"/><int64 id="8503" name="NumTrades"/><int64 id="387" name="TotalVolumeTrade"/>
    <int64 id="8504" name="TotalValueTrade"/>
    <sequence id="268" name="NoMDEntries" presence="optional">
      <string id="269" name="MDEntryType"/><int64 id="270" name="MDEntryPx" presence="optional"/>
      <int64 id="271" name="MDEntrySize" presence="optional"/><uInt32 id="1023" name="MDPriceLevel" presence="optional"/>
    </sequence>
  </template>
  <template id="3001" name="ChannelHeartbeat">
    <uInt32 id="10201" name="ChannelNo"/><int64 id="1350" name="ApplLastSeqNum"/>
    <string id="10205" name="EndOfChannel" presence="optional"/>
  </template>
</templates>"""

TYPES = {"TickOrder": "UA201", "TickExecution": "UA202", "ChannelHeartbeat": "UA001", "Snapshot": "W"}
FEED = """name = "szse"
[[image]]
name = "szse"
templates = ["templates.xml"]
[defaults]
framing = "custom:seq=u64be@0"
[[channel]]
number = 1
name = "ticks"
ring = "{name}"
a = {{ group = "127.0.0.1", port = 9129 }}
"""
APPLIANCE = """name = "{name}"
state = "state"
[rings]
slots = 262144
[control]
socket = "control.sock"
[recorder]
folder = "packets"
file = "64MiB"
line = "256MiB"
[[agent]]
name = "md"
[[port]]
name = "gateway"
kind = "step"
password_file = "password"
version = "1.02"
heartbeat = "3s"
retry = "10ms"
templates = {{ UA201 = 4201, UA202 = 4202, UA001 = 3001 }}
[[feed]]
file = "feed.toml"
a = "gateway"
"""


def stat():
    return json.loads(TRIAL.stopbit("stat", NAME, "--json"))


def channel():
    return stat()["channels"][0]


class Exchange:
    """Makes messages as Shenzhen's templates have them, and remembers what was sent in a session."""

    def __init__(self, server):
        self.server, self.encoder = server, step_server.Encoder("templates.xml")
        self.number, self.time = 0, 20261128093000000
        self.sent = []  # what records must say, in order
        self.packets = 0

    def make(self):
        self.number += 1
        self.time += RNG.randrange(1000)
        usual = {"ChannelNo": 2011 + self.number // 50 % 2, "MDStreamID": "011",
                 "SecurityID": f"{RNG.randrange(1, 999999):06}", "SecurityIDSource": "102"}
        kind = RNG.choice(("TickOrder", "TickOrder", "TickExecution", "Snapshot", "ChannelHeartbeat"))
        if kind == "TickOrder":
            values = {**usual, "ApplSeqNum": self.number, "Price": RNG.randrange(-5, 10**9),
                      "OrderQty": 100 * RNG.randrange(1, 10**6), "Side": RNG.choice("12FG"),
                      "OrdType": RNG.choice(("1", "2", "U", None)), "TransacTime": self.time}
        elif kind == "TickExecution":
            values = {**usual, "ApplSeqNum": self.number, "BidApplSeqNum": RNG.choice((None, 0, self.number - 1)),
                      "OfferApplSeqNum": RNG.choice((None, 7)), "LastPx": RNG.choice((None, 0, 123400, -1)),
                      "LastQty": RNG.randrange(10**9), "ExecType": RNG.choice("4F"), "TransacTime": self.time}
        elif kind == "Snapshot":
            rows = [{"MDEntryType": RNG.choice(("0", "1", "x1")), "MDEntryPx": RNG.choice((None, RNG.randrange(10**8))),
                     "MDEntrySize": RNG.choice((None, 0, RNG.randrange(10**9))), "MDPriceLevel": RNG.choice((None, i))}
                    for i in range(RNG.randrange(12))]
            values = {**usual, "OrigTime": self.time, "TradingPhaseCode": "T0", "PreClosePx": RNG.randrange(10**7),
                      "NumTrades": self.number, "TotalVolumeTrade": RNG.randrange(10**12),
                      "TotalValueTrade": RNG.randrange(10**15), "NoMDEntries": RNG.choice((None, rows))}
        else:
            values = {"ChannelNo": usual["ChannelNo"], "ApplLastSeqNum": self.number,
                      "EndOfChannel": RNG.choice((None, "Y"))}
        return kind, values

    def message(self, count=None, is_heard=True):
        """One STEP message with several in FAST. The first need not name its template, if its type does."""
        self.encoder.reset()
        raw, around = b"", None
        for _ in range(count or RNG.choice((1, 1, 2, 5, 20))):
            kind, values = self.make()
            if around is None:
                around = TYPES[kind]
                if around != "W":
                    self.encoder.expect(kind)
            raw += self.encoder.message(kind, values, names_template=RNG.random() < 0.5)
            if is_heard:
                self.sent.append((kind, values))
        self.packets += is_heard
        return self.server.data(raw, around)

    def send(self, messages):
        content = b""
        for _ in range(messages):
            content += self.message()
            if RNG.random() < 0.1:
                content += self.server.session_message("0")
        self.server.send(content, RNG)

    def is_whole(self):
        return channel()["packets"]["delivered"] == self.packets


def strip(values):
    """Without fields that are absent; rows of sequences likewise."""
    return {key: [strip(row) for row in value] if isinstance(value, list) else str(value)
            for key, value in values.items() if value is not None}


def records(*arguments):
    rows = (json.loads(row) for row in TRIAL.stopbit(*arguments).splitlines())
    return [(row["template"], strip(row["fields"])) for row in rows if "template" in row]


def check_records(seen, wanted):
    """Each message that was sent in a session once, in order."""
    for at, (found, sent) in enumerate(zip(seen, wanted)):
        assert found == sent, f"record {at}:\n{found}\n{sent}"
    assert len(seen) == len(wanted), f"{len(seen)} of {len(wanted)}"


class Appliance:
    def __init__(self):
        self.log = open("log", "w", encoding="utf-8")
        self.process = subprocess.Popen([TRIAL.program, "run", "appliance.toml", "-q"], stderr=self.log)
        atexit.register(self.process.kill)
        TRIAL.wait_for("the start", lambda: 'what="started"' in read("log") or self.process.poll() is not None)
        assert self.process.poll() is None, read("log")
        problems = [line for line in read("log").splitlines() if 'what="not confined"' in line and "Landlock" not in line]
        assert not problems, problems

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        assert status == 0, (status, read("log"))


def main():
    corpus = os.path.join(os.environ.get("STOPBIT_CORPUS", ""), "templates", "szse-step.xml")
    write("templates.xml", read(corpus) if os.path.exists(corpus) else TEMPLATES)
    write("feed.toml", FEED.format(name=NAME))
    write("appliance.toml", APPLIANCE.format(name=NAME))
    write("password", "a secret\n")
    os.chmod("password", 0o644)
    assert "connects to the servers of its lines" in TRIAL.stopbit("run", "--check", "appliance.toml")
    server = step_server.Server(SERVER, "a secret")
    exchange = Exchange(server)
    appliance = Appliance()
    assert re.search('what="note" text=".*password. holds a secret, but every user may read it', read("log")), read("log")

    TRIAL.wait_for("the log-on", server.is_in)
    exchange.send(200)
    TRIAL.wait_for("the first messages", exchange.is_whole)
    TRIAL.wait_for("heartbeats", lambda: server.count_of("0") >= 2)
    server.send(server.session_message("1", [(112, "there?")]))
    TRIAL.wait_for("an answer to a test request", lambda: any(fields.get("112") == "there?" for fields in server.heard))
    assert channel()["numbers"]["lost"] == 0 and stat()["ports"][0]["failures"] == 0, stat()

    # The connection breaks in the middle of a message; what passes meanwhile is one missing number.
    holes = failures = 0

    def come_back(doing):
        nonlocal holes, failures
        doing()
        holes, failures = holes + 1, failures + 1
        exchange.message(is_heard=False)
        TRIAL.wait_for("another log-on", server.is_in)
        exchange.send(50)
        TRIAL.wait_for("what followed", exchange.is_whole)
        numbers, gaps = channel()["numbers"], channel()["gaps"]
        assert numbers["lost"] == gaps == holes and numbers["held"] == 0, (holes, numbers)

    def close():
        server.send(exchange.message(is_heard=False)[:-9])
        server.close()

    def is_out(connections):
        TRIAL.wait_for("the end of the session", lambda: server.connections > connections)

    def hang(content):
        before = server.connections
        try:
            server.send(content)
        except OSError:
            pass  # it did not want the rest
        is_out(before)

    come_back(close)
    ended = re.compile('what="session ended" server="127.0.0.1:9129" .*why="closed"')
    TRIAL.wait_for("how a session ended", lambda: ended.search(read("log")))
    come_back(lambda: hang(server.session_message("5", [(58, "bye")])))
    assert server.count_of("5") == 1, "a log-out is answered"
    good = exchange.message(is_heard=False)
    come_back(lambda: hang(good[:-4] + b"%03d\x01" % ((int(good[-4:-1]) + 1) % 256)))
    come_back(lambda: hang(good.replace(b"\x0195=", b"\x0195=9999", 1)))
    come_back(lambda: hang(b"8=STEP.1.0.0\x019=999999999\x01"))
    # A server that says nothing, although it was asked.
    before, server.is_quiet = server.connections, True
    TRIAL.wait_for("the end of a silent server", lambda: server.count_of("1") != 0 and server.connections > before)
    server.is_quiet = False
    come_back(lambda: None)
    assert stat()["ports"][0]["failures"] == failures, (failures, stat()["ports"])
    # One that does not let it in.
    server.plan = ["refuses", "hangs up", "refuses"]
    server.close()
    TRIAL.wait_for("refusals", lambda: server.refused == 3)
    failures += 3
    come_back(lambda: None)
    assert stat()["ports"][0]["failures"] == failures, (failures, stat()["ports"])

    # More than the agent takes at once: the server waits, and nothing is dropped.
    exchange.send(3000)
    TRIAL.wait_for("a burst", exchange.is_whole)

    log_outs = server.count_of("5")
    appliance.end()
    TRIAL.wait_for("the log-out", lambda: server.count_of("5") == log_outs + 1)
    assert not server.violations, server.violations
    wanted = [(kind, strip(values)) for kind, values in exchange.sent]
    check_records(records("tail", NAME), wanted)
    # What was recorded says the same.
    files = sorted(os.path.join("packets", name) for name in os.listdir("packets") if name.endswith(".pcapng"))
    check_records(records("replay", *files, "--feed", "feed.toml"), wanted)
    print(f"{len(exchange.sent)} messages in {exchange.packets} packets, {server.connections} connections")


if __name__ == "__main__":
    main()
