"""A historical replay service as public pages describe the one of the Moscow Exchange: requests are FIX text, answers are
FAST messages, each after its length, a u32 with the lowest byte first, and without the preamble of the feed. It may also
do wrong, in each way that BEHAVIOURS names. And the few FAST messages that a test needs, encoded by hand.
"""

import re
import socket
import struct
import threading

SOH = "\x01"
BEHAVIOURS = ("honest", "drops", "hangs_up", "stalls", "deaf", "floods", "other_range", "long", "empty", "garbage",
              "backwards", "rejects", "drips", "cuts", "repeats")
TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="A" id="2101"><string name="MessageType" id="35"><constant value="A"/></string>
    <uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>
  <template name="5" id="2102"><string name="MessageType" id="35"><constant value="5"/></string>
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


def framed(body):
    return struct.pack("<I", len(body)) + body


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


class ReplayServer:
    """Serves `messages` of each feed, by number. `plan`: what its next connections do; then it is honest."""

    def __init__(self, address, most_messages, most_requests, password):
        self.messages, self.plan = {}, []
        self.connections = self.requests = self.logouts = 0
        self.violations = []
        self.most_messages, self.most_requests, self.password = most_messages, most_requests, password
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
                        peer.sendall(framed(message(2102, 1)))
                        return
                    if behaviour == "hangs_up":
                        peer.sendall(framed(message(2101, 1)))
                        return
                    logged_on = True
                    peer.sendall(framed(message(2101, 1)))
                elif fields["35"] == "5":
                    self.logouts += 1
                    return
                else:
                    if not logged_on:
                        raise Violation("a request before the log-on")
                    requests += 1
                    if requests > self.most_requests:
                        raise Violation("too many requests in a connection")
                    if self.answer(peer, fields, behaviour):
                        return

    @staticmethod
    def check_header(fields, serial):
        wanted = {"8": "FIXT.1.1", "49": "FIRM", "56": "MOEX", "34": str(serial)}
        for tag, value in wanted.items():
            if fields.get(tag) != value:
                raise Violation(f"field {tag} is {fields.get(tag)!r}, not {value!r}")
        if re.fullmatch(r"\d{8}-\d\d:\d\d:\d\d\.\d{3}", fields.get("52", "")) is None:
            raise Violation(f"SendingTime {fields.get('52')!r}")
        if fields.get("35") not in ("A", "5", "V"):
            raise Violation(f"MsgType {fields.get('35')!r}")

    def check_log_on(self, fields):
        if (fields.get("553"), fields.get("554")) != ("user0", self.password):
            raise Violation(f"user {fields.get('553')!r}, password {fields.get('554')!r}")
        if fields.get("98") != "0" or "108" not in fields or fields.get("1137") != "9":
            raise Violation(f"a log-on without its fields: {fields}")

    def answer(self, peer, fields, behaviour):
        """True: the connection ends."""
        self.requests += 1
        first, last = int(fields["1182"]), int(fields["1183"])
        if not first <= last < first + self.most_messages:
            raise Violation(f"a request for {first} to {last}")
        known = self.messages.get(fields["1180"])
        if known is None:
            raise Violation(f"no feed is called {fields['1180']!r}")
        bodies = [known[n] for n in range(first, last + 1)]
        if behaviour == "stalls":
            self.wait.wait()
            return True
        if behaviour == "floods":
            for _ in range(100_000):
                peer.sendall(framed(message(2108, 2)))
            return True
        if behaviour == "other_range":
            for n in range(1, first):
                peer.sendall(framed(known[n]))
            for _ in range(100):
                peer.sendall(framed(known[max(known)]))
            return True
        if behaviour == "long":
            peer.sendall(struct.pack("<I", 0xFFFF_FFFF) + bytes(1000))
        elif behaviour == "empty":
            peer.sendall(struct.pack("<I", 0))
        elif behaviour == "garbage":
            for size in (1, 7, 300, 8, 9) * 20:
                peer.sendall(framed(b"\xa5" * size))
        elif behaviour == "backwards":
            peer.sendall(b"".join(framed(body) for body in reversed(bodies)))
            self.wait.wait(0.05)
            return True
        elif behaviour == "cuts":
            whole = b"".join(framed(body) for body in bodies)
            peer.sendall(whole[:len(whole) - 3])
            return True
        elif behaviour == "repeats":
            peer.sendall(b"".join(framed(body) * 2 for body in bodies))
        elif behaviour == "drips":
            for byte in b"".join(framed(body) for body in bodies):
                peer.sendall(bytes([byte]))
        else:
            peer.sendall(b"".join(framed(body) for body in bodies))
        return False
