"""Historical replay services as pages describe them, each in a class: Moex, Cme, B3. They may also do wrong, in each
way that BEHAVIOURS names. And the few FAST messages that a test needs, encoded by hand.
"""

import re
import socket
import struct
import threading

SOH = "\x01"
BEHAVIOURS = ("honest", "drops", "hangs_up", "stalls", "deaf", "floods", "other_range", "long", "empty", "garbage",
              "backwards", "rejects", "refuses", "drips", "cuts", "repeats")
TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="A" id="2101"><string name="MessageType" id="35"><constant value="A"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>
  <template name="5" id="2102"><string name="MessageType" id="35"><constant value="5"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>
  <template name="Y" id="2109"><string name="MessageType" id="35"><constant value="Y"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>
  <template name="0" id="2108"><string name="MessageType" id="35"><constant value="0"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>
  <template name="X-OLR" id="3610"><string name="MessageType" id="35"><constant value="X"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/>
    <sequence name="GroupMDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/><string name="MDEntryID" id="278"/>
      <string name="Symbol" id="55" presence="optional"/><uInt32 name="RptSeq" id="83"/><int32 name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/></sequence></template>
</templates>"""
# What these messages mean for books.
MAP = """[feed]
name = "replayed-orders"
[sequence]
message = "MsgSeqNum"
entry = "RptSeq"
[instrument]
key = ["Symbol"]
[[book]]
by = "order"
action = "MDUpdateAction"
actions = { 0 = "new", 1 = "change", 2 = "delete" }
id = "MDEntryID"
price = "MDEntryPx"
quantity = "MDEntrySize"
[[message]]
kind = "incremental"
templates = ["X-OLR"]
entries = "GroupMDEntries"
[[message]]
kind = "heartbeat"
templates = ["0"]
[[message]]
kind = "other"
templates = ["A", "5", "Y"]
[[entry]]
when = { MDEntryType = "J" }
role = "empty"
[[entry]]
when = { MDEntryType = ["0", "1"] }
role = "book"
side_field = "MDEntryType"
sides = { 0 = "bid", 1 = "ask" }
"""


def unsigned(value):
    groups = [0x80 | value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes(reversed(groups))


def signed(value):
    groups = [0x80 | value & 0x7F]
    value >>= 7
    while value not in (0, -1) or bool(groups[-1] & 0x40) != (value < 0):
        groups.append(value & 0x7F)
        value >>= 7
    return bytes(reversed(groups))


def ascii(text):
    return text[:-1].encode() + bytes([ord(text[-1]) | 0x80])


def message(template, number, body=b""):
    """A presence map with the bit of the template's number alone; then the fields."""
    return b"\xc0" + unsigned(template) + unsigned(number) + unsigned(20261128120000000) + body


def increment(number, entries):
    """`entries`: action, side, order, symbol or none, number of the instrument, price, quantity."""
    body = unsigned(len(entries))
    for action, side, order, symbol, rpt, price, quantity in entries:
        body += (unsigned(action) + ascii(str(side)) + ascii(order) + (ascii(symbol) if symbol else b"\x80") +
                 unsigned(rpt) + signed(price) + signed(quantity))
    return message(3610, number, body)


class Violation(Exception):
    pass


def parse_fix(text):
    """One message at the beginning of the text, and what follows; nothing if it is not whole yet."""
    head = re.match(rf"8=([^{SOH}]*){SOH}9=(\d+){SOH}", text)
    if head is None:
        if len(text) > 64:
            raise Violation(f"no FIX message: {text[:64]!r}")
        return None, text
    end = head.end() + int(head.group(2))
    if len(text) < end + 7:
        return None, text
    trailer = re.match(rf"10=(\d\d\d){SOH}", text[end:])
    if trailer is None or int(trailer.group(1)) != sum(text[:end].encode()) % 256:
        raise Violation(f"a wrong length or check sum: {text!r}")
    fields = dict(field.split("=", 1) for field in text[head.end():end].split(SOH) if field)
    fields["8"] = head.group(1)
    return fields, text[end + 7:]


class Moex:
    """The Moscow Exchange: answers are FAST messages, each after its length, a u32 with the lowest byte first, and
    without the preamble of the feed. So are log-on and log-out."""

    NAME, BEGIN, TARGET, REQUEST, FRAMING = "moex", "FIXT.1.1", "MOEX", "V", "moex"
    MOST_REQUESTS = 1
    LONG, EMPTY = struct.pack("<I", 0xFFFF_FFFF) + bytes(1000), struct.pack("<I", 0)
    PROBE = b""

    @staticmethod
    def preamble(number, body):
        """Of the feed."""
        return struct.pack("<I", number)

    @staticmethod
    def framed(body, number=0):
        return struct.pack("<I", len(body)) + body

    def log_on(self):
        return self.framed(message(2101, 1))

    def log_out(self):
        return self.framed(message(2102, 1))

    def heartbeat(self):
        return self.framed(message(2108, 2))

    def refusal(self, fields):
        return self.framed(message(2109, 2))

    def before(self, fields):
        return b""

    after = before

    def answer(self, numbered):
        """`numbered`: pairs of number and message. One answer for each, so that a test can tear them apart."""
        return [self.framed(body, number) for number, body in numbered]

    @staticmethod
    def check_log_on(fields):
        if fields.get("98") != "0" or "108" not in fields or fields.get("1137") != "9":
            raise Violation(f"a log-on without its fields: {fields}")

    @staticmethod
    def feed_of(fields):
        return fields.get("1180")


class Cme(Moex):
    """CME: an answer is its length, the preamble of the feed as it was (u32 number, u8 sub-channel, highest byte
    first), and the message. One request a session; heartbeats every 2 s."""

    NAME, BEGIN, TARGET, REQUEST, FRAMING = "cme", "FIXT.1.1", "CME", "V", "cme"
    LONG, EMPTY = struct.pack(">I", 0xFFFF_FFFF) + bytes(1000), struct.pack(">I", 0)

    @staticmethod
    def preamble(number, body):
        return struct.pack(">IB", number, 7)

    @staticmethod
    def framed(body, number=0):
        return struct.pack(">IIB", len(body) + 5, number, 7) + body

    @staticmethod
    def check_log_on(fields):
        Moex.check_log_on(fields)
        if fields["108"] != "2":
            raise Violation(f"heartbeats every {fields['108']} s")


class B3(Moex):
    """B3: FIX 4.4 in both directions. BW asks; BX, URDR with messages in FAST, without the header of their chunks, and
    BY answer."""

    NAME, BEGIN, TARGET, REQUEST, FRAMING = "b3", "FIX.4.4", "B3REPLAY", "BW", "b3"
    MOST_REQUESTS = 4
    LONG = b"8=FIX.4.4\x019=999999999\x01" + bytes(1000)
    EMPTY = b"8=FIX.4.4\x019=\x01"

    def __init__(self):
        self.serial = 0
        self.PROBE = self.text("1", [("112", "alive?")])

    def text(self, kind, fields=(), raw=None):
        self.serial += 1
        head = [("35", kind), ("49", self.TARGET), ("56", "FIRM"), ("34", self.serial),
                ("52", "20261128-12:00:00.000")]
        body = b""
        for tag, value in [*head, *fields]:
            body += f"{tag}=".encode() + (raw if value is None else str(value).encode()) + b"\x01"
        whole = b"8=FIX.4.4\x01" + f"9={len(body)}\x01".encode() + body
        return whole + b"10=%03d\x01" % (sum(whole) % 256)

    @staticmethod
    def preamble(number, body):
        return struct.pack(">IHHH", number, 1, 1, len(body))

    def framed(self, body, number=0):
        return self.answer([(number, body)])[0]

    def log_on(self):
        return self.text("A", [("98", 0), ("108", 30), ("141", "Y")])

    def log_out(self):
        return self.text("5", [("58", "no")])

    def heartbeat(self):
        return self.text("0")

    def refusal(self, fields):
        return self.text("BX", [("1353", 9), ("1346", fields["1346"]), ("1348", 2), ("1351", 1),
                                ("1355", fields["1355"]), ("1354", 1)])

    def before(self, fields):
        return self.text("BX", [("1353", 1), ("1346", fields["1346"]), ("1348", 0), ("1351", 1),
                                ("1355", fields["1355"]), ("1182", fields["1182"]),
                                ("1183", fields["1183"])]) + self.PROBE

    def after(self, fields):
        return self.text("BY", [("1356", 1), ("1346", fields["1346"]), ("1426", 3), ("1351", 1),
                                ("1355", fields["1355"]), ("1357", fields["1183"])])

    def answer(self, numbered):
        reports = []
        for i in range(0, len(numbered), 7):
            raw, group = b"", []
            for number, body in numbered[i:i + 7]:
                group += [("1181", number), ("1350", number), ("10055", len(raw)), ("95", len(body))]
                raw += body
            reports.append(self.text("URDR", [("95", len(raw)), ("96", None), ("911", len(numbered)), ("1180", "OLR"),
                                              ("1346", "any"), ("1352", "Y"), ("1353", 1), ("10054", len(group) // 4),
                                              *group], raw))
        return reports

    @staticmethod
    def check_log_on(fields):
        if fields.get("98") != "0" or fields.get("108") != "30" or fields.get("141") != "Y":
            raise Violation(f"a log-on without its fields: {fields}")

    @staticmethod
    def feed_of(fields):
        if (fields.get("1347"), fields.get("1351")) != ("0", "1") or not fields.get("1346"):
            raise Violation(f"a request without its fields: {fields}")
        return fields.get("1355")


DIALECTS = {dialect.NAME: dialect for dialect in (Moex, Cme, B3)}


class ReplayServer:
    """Serves `messages` of each feed, by number. `plan`: what its next connections do; then it is honest."""

    def __init__(self, address, dialect, most_messages, password):
        self.speech = dialect
        self.messages, self.plan = {}, []
        self.connections = self.requests = self.logouts = self.heartbeats = 0
        self.violations = []
        self.most_messages, self.password = most_messages, password
        self.wait = threading.Event()  # ends what stalls
        self.listener = socket.create_server(address)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            self.connections += 1
            behaviour = self.plan.pop(0) if self.plan else "honest"
            threading.Thread(target=self.serve, args=(peer, behaviour), daemon=True).start()

    def serve(self, peer, behaviour):
        try:
            with peer:
                self.talk(peer, behaviour)
        except Violation as violation:
            self.violations.append(str(violation))
        except OSError:
            pass  # the client has closed

    def talk(self, peer, behaviour):
        if behaviour == "drops":
            return
        if behaviour == "deaf":  # it neither reads nor says anything
            self.wait.wait()
            return
        rest, serial, requests, logged_on = "", 0, 0, False
        while True:
            received = peer.recv(4096)
            if not received:
                return
            rest += received.decode("ascii")
            while True:
                fields, rest = parse_fix(rest)
                if fields is None:
                    break
                serial += 1
                self.check_header(fields, serial)
                if fields["35"] == "A":
                    self.check_log_on(fields)
                    if behaviour == "rejects":
                        peer.sendall(self.speech.log_out())
                        return
                    peer.sendall(self.speech.log_on())
                    if behaviour == "hangs_up":
                        return
                    logged_on = True
                elif fields["35"] == "0":
                    self.heartbeats += 1
                elif fields["35"] == "5":
                    self.logouts += 1
                    return
                else:
                    if not logged_on:
                        raise Violation("a request before the log-on")
                    requests += 1
                    if requests > self.speech.MOST_REQUESTS:
                        raise Violation("too many requests in a connection")
                    if self.answer(peer, fields, behaviour):
                        return

    def check_header(self, fields, serial):
        wanted = {"8": self.speech.BEGIN, "49": "FIRM", "56": self.speech.TARGET, "34": str(serial)}
        for tag, value in wanted.items():
            if fields.get(tag) != value:
                raise Violation(f"field {tag} is {fields.get(tag)!r}, not {value!r}")
        if re.fullmatch(r"\d{8}-\d\d:\d\d:\d\d\.\d{3}", fields.get("52", "")) is None:
            raise Violation(f"SendingTime {fields.get('52')!r}")
        if fields.get("35") not in ("A", "0", "5", self.speech.REQUEST):
            raise Violation(f"MsgType {fields.get('35')!r}")

    def check_log_on(self, fields):
        if (fields.get("553"), fields.get("554")) != ("user0", self.password):
            raise Violation(f"user {fields.get('553')!r}, password {fields.get('554')!r}")
        self.speech.check_log_on(fields)

    def answer(self, peer, fields, behaviour):
        """True: the connection ends."""
        self.requests += 1
        first, last = int(fields["1182"]), int(fields["1183"])
        if not first <= last < first + self.most_messages:
            raise Violation(f"a request for {first} to {last}")
        feed = self.speech.feed_of(fields)
        known = self.messages.get(feed)
        if known is None:
            raise Violation(f"no feed is called {feed!r}")
        numbered = [(n, known[n]) for n in range(first, last + 1)]
        if behaviour == "stalls":
            self.wait.wait()
            return True
        if behaviour == "refuses":
            peer.sendall(self.speech.refusal(fields))
            self.wait.wait(0.05)
            return True
        peer.sendall(self.speech.before(fields))
        if behaviour == "floods":
            for _ in range(100_000):
                peer.sendall(self.speech.heartbeat())
            return True
        if behaviour == "other_range":
            others = [*range(1, first), *[max(known)] * 100]
            for frame in self.speech.answer([(n, known[n]) for n in others]):
                peer.sendall(frame)
            return True
        whole = b"".join(self.speech.answer(numbered))
        if behaviour == "long":
            peer.sendall(self.speech.LONG)
        elif behaviour == "empty":
            peer.sendall(self.speech.EMPTY)
        elif behaviour == "garbage":
            for size in (1, 7, 300, 8, 9) * 20:
                peer.sendall(self.speech.framed(b"\xa5" * size))
        elif behaviour == "backwards":
            peer.sendall(b"".join(self.speech.answer(numbered[::-1])))
            self.wait.wait(0.05)
            return True
        elif behaviour == "cuts":
            peer.sendall(whole[:len(whole) - 3])
            return True
        elif behaviour == "repeats":
            peer.sendall(b"".join(self.speech.answer([one for one in numbered for _ in range(2)])))
        elif behaviour == "drips":
            for byte in whole:
                peer.sendall(bytes([byte]))
        else:
            # At once: the client may close after the last message.
            peer.sendall(whole + self.speech.after(fields))
            return False
        peer.sendall(self.speech.after(fields))
        return False
