#!/usr/bin/env python3
"""An appliance that asks a replay service, in a network namespace of its own.

    replay_test.py BIN_FOLDER NAME DIALECT
"""

import atexit
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay_server  # noqa: E402  (it is beside this file)
from trial import PATIENCE, Trial, write  # noqa: E402

NAME = sys.argv[2]
TRIAL = Trial(sys.argv[1], NAME)
DIALECT = replay_server.DIALECTS[sys.argv[3]]()
LINES = (("239.40.1.1", 21001), ("239.40.2.1", 21002))
TRADE_LINES = (("239.40.3.1", 21003), ("239.40.4.1", 21004))
SERVICE = ("127.0.0.1", 9011)
MOST_MESSAGES = 40

FEED = """name = "moex"
[[image]]
name = "asts"
templates = ["templates.xml"]
[defaults]
framing = "{framing}"
window = {{ packets = 8, time = "5ms" }}
[[channel]]
number = 1
name = "orders"
ring = "{name}"
map = "map.toml"
replay = "OLR"
a = {{ group = "239.40.1.1", port = 21001 }}
b = {{ group = "239.40.2.1", port = 21002 }}
[[channel]]
number = 2
name = "trades"
ring = "{name}-plain"
replay = "TLR"
a = {{ group = "239.40.3.1", port = 21003 }}
b = {{ group = "239.40.4.1", port = 21004 }}
"""
APPLIANCE = """name = "{name}"
state = "state"
[control]
socket = "control.sock"
[books]
refresh = true
[[agent]]
name = "md"
[[port]]
name = "lo"
kind = "socket"
interface = "lo"
[[feed]]
file = "feed.toml"
a = "lo"
[[replay]]
name = "history"
address = "127.0.0.1:9011"
dialect = "{dialect}"
sender = "FIRM"
target = "{target}"
requests = {requests}
user = "user0"
password_file = "password"
connections = {connections}
messages = 40
patience = "400ms"
retry = "10ms"
attempts = 5
"""


class Exchange:
    """Sends numbered messages on two lines, keeps the true books, and gives the replay service what it has sent."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self.orders, self.trades = {}, {}
        server.messages = {"OLR": self.orders, "TLR": self.trades}
        self.rpt = {"SBER": 0, "GAZP": 0}
        self.books = {"SBER": {}, "GAZP": {}}
        self.made = 0

    def send(self, numbers, number, body, lines, is_lost):
        numbers[number] = body
        for line in lines:
            if not is_lost:
                self.socket.sendto(DIALECT.preamble(number, body) + body, line)

    def order(self, is_lost=False):
        symbol = ("SBER", "GAZP")[self.made % 2]
        self.made += 1
        self.rpt[symbol] += 1
        book, rpt = self.books[symbol], self.rpt[symbol]
        if len(book) > 20:
            order = next(iter(book))
            side, price, quantity = book.pop(order)
            entry = (2, side, order, symbol, rpt, price, quantity)
        else:
            order, side = f"{symbol}{rpt}", self.made // 2 % 2
            price, quantity = (100 - self.made % 7, 110 + self.made % 7)[side], 1 + self.made % 90
            book[order] = (side, price, quantity)
            entry = (0, side, order, symbol, rpt, price, quantity)
        number = len(self.orders) + 1
        self.send(self.orders, number, replay_server.increment(number, [entry]), LINES, is_lost)

    def empty(self):
        """All books are empty, and known to be."""
        self.send(self.orders, 1, replay_server.increment(1, [(0, "J", "0", None, 0, 1, 1)]), LINES, False)

    def trade(self, is_lost=False):
        number = len(self.trades) + 1
        self.send(self.trades, number, replay_server.increment(number, [(0, 0, "T", "SBER", number, 100, 1)]),
                  TRADE_LINES, is_lost)

    def lose_orders(self, count):
        """After the loss as many packets as close the window."""
        for _ in range(count):
            self.order(is_lost=True)
        for _ in range(10):
            self.order()

    def best(self, symbol, side):
        of_side = [(price, quantity) for at, price, quantity in self.books[symbol].values() if at == side]
        if not of_side:
            return None
        best = (max if side == 0 else min)(price for price, _ in of_side)
        return best, sum(quantity for price, quantity in of_side if price == best)


class Appliance:
    def __init__(self, connections):
        write("appliance.toml", APPLIANCE.format(name=NAME, connections=connections, dialect=DIALECT.NAME,
                                                  target=DIALECT.TARGET, requests=DIALECT.MOST_REQUESTS))
        self.log = open("log", "w", encoding="utf-8")
        self.process = subprocess.Popen([TRIAL.program, "run", "appliance.toml", "-q"], stderr=self.log)
        atexit.register(self.process.kill)
        TRIAL.wait_for("the start", lambda: 'what="started"' in self.text())
        told = [line for line in self.text().splitlines() if 'what="not confined"' in line and "Landlock" not in line]
        assert not told, told

    @staticmethod
    def text():
        with open("log", encoding="utf-8") as file:
            return file.read()

    def end(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        status = self.process.wait(PATIENCE)
        assert status == (0 if by == signal.SIGTERM else -by), status


def stat():
    return json.loads(TRIAL.stopbit("stat", NAME, "--json"))


def numbers_of(name):
    return next(channel for channel in stat()["channels"] if channel["name"] == name)["numbers"]


def service():
    return stat()["replays"][0]


def is_whole(exchange):
    """Every number has come, and none is lost."""
    orders = numbers_of("orders")
    return orders["expected"] == len(exchange.orders) and orders["lost"] == orders["held"] == 0


def check_books(exchange):
    for row in TRIAL.stopbit("states", f"{NAME}-events", "--format", "jsonl").splitlines():
        state = json.loads(row)
        for side, key in ((0, "bid"), (1, "ask")):
            best = exchange.best(state["instrument"], side)
            assert state.get(key) == (best and str(best[0])), f"{state} {best}"
            assert state.get(f"{key}_quantity") == (best and str(best[1])), f"{state} {best}"
        assert state["book"] == "latest", state


def check_records(ring, sent):
    """Each number once. @returns those that came by replay."""
    seen, replayed = set(), []
    for row in TRIAL.stopbit("tail", ring, "--header").splitlines():
        number = re.search(r'"MsgSeqNum":"?(\d+)', row)
        if number is None:
            continue
        number = int(number.group(1))
        assert number not in seen, f"{number} twice"
        seen.add(number)
        if '"replay"' in row:
            replayed.append(number)
    assert seen == set(range(1, sent + 1)), f"{len(seen)} of {sent}"
    return replayed


def main():
    write("templates.xml", replay_server.TEMPLATES)
    write("map.toml", replay_server.MAP)
    write("feed.toml", FEED.format(name=NAME, framing=DIALECT.FRAMING))
    write("password", "not told\n")
    server = replay_server.ReplayServer(SERVICE, DIALECT, MOST_MESSAGES, "not told")
    exchange = Exchange(server)
    appliance = Appliance(connections=1_000)
    exchange.empty()
    for _ in range(50):
        exchange.order()
        exchange.trade()
    TRIAL.wait_for("the first messages", lambda: is_whole(exchange))
    check_books(exchange)

    # A service that does what it should: in one request, or in several connections.
    for count in (1, 5, MOST_MESSAGES, 3 * MOST_MESSAGES):
        exchange.lose_orders(count)
        TRIAL.wait_for(f"{count} numbers", lambda: is_whole(exchange))
    check_books(exchange)
    most = {1: 6, 4: 4}[DIALECT.MOST_REQUESTS]  # the last count takes several requests
    assert server.logouts == server.connections == most, (server.logouts, server.connections)
    if DIALECT.PROBE:
        TRIAL.wait_for("answers to test requests", lambda: server.heartbeats >= 4)
    for _ in range(7):
        exchange.trade(is_lost=True)
    for _ in range(10):
        exchange.trade()
    TRIAL.wait_for("a channel without books", lambda: numbers_of("trades")["lost"] == 0 and
             numbers_of("trades")["recovered"] == 7)

    # And one that does not, again and again, until it does.
    for behaviour in replay_server.BEHAVIOURS:
        before = service()
        server.plan = [behaviour]
        exchange.lose_orders(12)
        TRIAL.wait_for(behaviour, lambda: is_whole(exchange))
        after = service()
        assert after["not_brought"] == after["no_quota"] == after["no_room"] == 0, (behaviour, after)
        told = {"floods": "flooded", "other_range": "flooded", "garbage": "flooded", "long": "malformed",
                "empty": "malformed", "stalls": "stalled", "deaf": "stalled",
                "refuses": "refused"}.get(behaviour)
        if told:
            assert after[told] == before[told] + 1, (behaviour, before, after)
        check_books(exchange)
    recovered = numbers_of("orders")["recovered"]
    assert recovered == 1 + 5 + 4 * MOST_MESSAGES + 12 * len(replay_server.BEHAVIOURS), recovered
    assert "by replay" in TRIAL.stopbit("gaps", NAME), TRIAL.stopbit("gaps", NAME)
    assert "Replay services" in TRIAL.stopbit("stat", NAME)
    appliance.end()
    replayed = check_records(NAME, len(exchange.orders))  # the ring is there until the next one has its name
    assert len(replayed) == recovered, replayed

    # An image is loaded, and the appliance ends, while a request is out.
    appliance = Appliance(connections=1_000)
    server.plan = ["stalls"]
    exchange.lose_orders(3)
    exchange.lose_orders(3)
    TRIAL.wait_for("a request", lambda: not server.plan)
    assert "error" not in TRIAL.stopbit("ctl", NAME, "load", "asts")
    TRIAL.wait_for("the new image", lambda: numbers_of("orders")["recovered"] >= 3 and numbers_of("orders")["lost"] == 0)
    server.plan = ["stalls"]
    exchange.lose_orders(3)
    TRIAL.wait_for("another request", lambda: not server.plan)
    appliance.end()
    used = server.connections
    server.wait.set()
    server.wait.clear()

    # A quota is that of a day, not of a process; one that is used up is told.
    appliance = Appliance(connections=used + 2)
    assert service()["quota_left"] == 2, service()
    TRIAL.wait_for("a low quota", lambda: 'what="replay quota low"' in appliance.text())
    exchange.lose_orders(2)
    TRIAL.wait_for("the last but one", lambda: server.connections == used + 1)
    appliance.end(signal.SIGKILL)
    appliance = Appliance(connections=used + 2)
    assert service()["quota_left"] <= 1, service()
    server.plan = ["drops"]
    exchange.lose_orders(2)
    TRIAL.wait_for("the end of the quota", lambda: service()["no_quota"] != 0)
    assert service()["quota_left"] == 0 and server.connections <= used + 2, (service(), server.connections)
    TRIAL.wait_for("its notice", lambda: 'what="not replayed"' in appliance.text())
    appliance.end()
    # A file that is damaged says nothing of what was used.
    with open("state/replay-quota", "r+b") as file:
        file.seek(40)
        file.write(b"\xff")
    connections = server.connections
    appliance = Appliance(connections=1_000)
    assert service()["quota_left"] == 0 and "damaged" in appliance.text(), service()
    exchange.lose_orders(2)
    TRIAL.wait_for("a quota that is not known", lambda: service()["no_quota"] != 0)
    assert server.connections == connections
    appliance.end()
    assert not server.violations, server.violations
    print(f"{recovered} messages replayed, {server.connections} connections, {server.requests} requests")


if __name__ == "__main__":
    main()
