#!/usr/bin/env python3
"""`stopbit relay` between a ring and brokers of Kafka, which are librdkafka's mock in a process of their own.

    kafka_test.py killed STOPBIT PROBE MOCK SAMPLE       relay and writer are killed at random; STOPBIT_KILLS times
    kafka_test.py hostile STOPBIT PROBE MOCK SAMPLE      what brokers, other producers and users do to a relay
    kafka_test.py books STOPBIT PROBE MOCK SAMPLE VALUES   the states of instruments in a compacted topic
    kafka_test.py read_back STOPBIT PROBE MOCK SAMPLE    tail, subscribe and the ring itself give the same records

The mock keeps the newest 5 MB, in memory: the stream is read while it is written, and the brokers are never killed. It
shows messages before their transaction is committed, and those of one that is aborted, too. It does not refuse what an
older relay of the topic sends, so that is said to it by hand.
"""

import os
import random
import socket
import subprocess
import sys

import relay_test
from relay_test import FOLDER, PATIENCE, PROBE, STOPBIT, Process, count_of, end_ring, has_all, logs, relay_of, ring_name, run
from relay_test import wait_for, writer_of

MOCK = os.path.abspath(sys.argv[4])
SAMPLE = sys.argv[5]
PRODUCE, INIT, END_TRANSACTION = 0, 22, 26  # keys of requests
NO_TOPIC, TOO_LARGE, INVALID, FENCED, NOT_AUTHORIZED, UNKNOWN = 3, 10, 42, 47, 53, -1


class Brokers:
    def __init__(self, topics=("S", "S_layouts")):
        with open(os.path.join(FOLDER, "brokers.log"), "ab") as log:
            self.process = subprocess.Popen([MOCK, *topics], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                            text=True)
        relay_test.STARTED.append(self.process)
        self.servers = self.process.stdout.readline().strip()
        assert self.servers, "the mock has not begun"

    def address(self, topic="S"):
        return f"kafka://{self.servers}/{topic}"

    def command(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def obey(self, *words):
        answer = self.command(*words)
        assert answer == "ok", (words, answer)

    def end(self, topic="S"):
        return int(self.command("end", topic))

    def grows(self, count, topic="S"):
        target = self.end(topic) + count
        wait_for("more messages", lambda: self.end(topic) >= target)


class Checking(Process):
    """Reads and compares while the stream is written, until it has seen the end of this many rings."""

    def __init__(self, brokers, rings, topic="S"):
        self.out = os.path.join(FOLDER, "checked")
        super().__init__("checking", [PROBE, "check", brokers.address(topic), str(rings)])

    def start(self):
        with open(self.log_path, "ab") as log, open(self.out, "wb") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=log, stdin=subprocess.DEVNULL, cwd=FOLDER)
        relay_test.STARTED.append(self.process)
        return self

    def has_all(self, wanted):
        status = self.ends()
        with open(self.out) as said:
            text = said.read()
        assert status == 0, text + logs()
        return has_all(text, wanted)


def killed():
    seed = int(os.environ.get("STOPBIT_SEED", "1"))
    kills = int(os.environ.get("STOPBIT_KILLS", "30"))
    chance = random.Random(seed)
    victims = [chance.choice(["relay", "relay", "relay", "writer", "both"]) for _ in range(kills)]
    rings = 1 + sum(victim != "relay" for victim in victims)
    print(f"seed {seed}, {kills} kills, {rings} rings")
    ring = ring_name("killed")
    brokers = Brokers()
    checking = Checking(brokers, rings).start()
    writer = writer_of(ring, 1)
    relay = relay_of(ring, brokers)
    wanted = {}
    for kill, victim in enumerate(victims):
        brokers.grows(chance.randint(1, 60))
        if victim == "relay":
            relay.kill()
            relay.start()
            continue
        # While the relay stores what is left of the ring, it may be killed as well.
        writer.kill()
        if victim == "both":
            relay.kill()
            relay.start()
        records, epoch = count_of(ring)
        relay.says(f"the ring made at {epoch} has ended with record {records};")
        wanted[epoch] = records
        writer = writer_of(ring, kill + 2)
    brokers.grows(20)
    epoch, records = end_ring(ring, writer, relay)
    wanted[epoch] = records
    total = checking.has_all(wanted)
    assert relay.stop() == 0
    killed_of = {victim: victims.count(victim) for victim in set(victims)}
    assert len(killed_of) == 3 or kills < 20, killed_of
    print(f"killed {killed_of}: {len(wanted)} rings, {total} records, each once and word for word")


def hostile_brokers():
    """They come after the relay, go away, refuse requests, and come back; each record is there once."""
    ring = ring_name("away")
    writer = writer_of(ring, 1, 400)
    brokers = Brokers()
    brokers.obey("down")
    relay = relay_of(ring, brokers, label="relay-away")
    relay.says("trying again")
    checking = Checking(brokers, 1).start()
    brokers.obey("up")
    brokers.grows(50)
    brokers.obey("down")
    relay.says("trying again", 2)
    brokers.obey("up")
    brokers.grows(50)
    # A message that brokers refuse aborts its transaction; so does a commit that fails.
    for request, code, words in ((PRODUCE, TOO_LARGE, "Message size too large"), (END_TRANSACTION, INVALID, "Invalid request")):
        brokers.obey("fail", request, code, 1)
        relay.says(words)
        brokers.grows(50)
    # Errors that the library repairs by itself, in the middle of what goes on.
    brokers.obey("fail", PRODUCE, UNKNOWN, 1)
    brokers.grows(50)
    # Brokers that refuse an older relay of the topic, because a newer one has begun: it ends, and another goes on.
    brokers.obey("fail", END_TRANSACTION, FENCED, 1)
    assert relay.ends() == 1, logs()
    other = relay_of(ring, brokers, label="relay-other")
    assert "another relay writes the topic S" in relay.log(), relay.log()
    brokers.grows(50)
    epoch, records = end_ring(ring, writer, other)
    checking.has_all({epoch: records})
    assert other.stop() == 0
    brokers.obey("fail", INIT, NOT_AUTHORIZED, 1)
    refused = relay_of(ring, brokers, "--once", label="relay-refused")
    assert refused.ends() == 1, logs()
    assert "authorization failed" in refused.log(), refused.log()


def hostile_producers():
    """Others write the topic: each of their messages is left out, by readers and by a relay that begins."""
    ring = ring_name("streams")
    brokers = Brokers()
    writer = writer_of(ring, 1)
    relay = relay_of(ring, brokers, label="relay-first")
    brokers.grows(20)
    assert relay.stop() == 0
    foreign = [("-", "-", "00"), ("x", "7", "5342524c5931" + "00" * 58), ("-", "ring", "5342524c59")]
    # Messages that a relay has written, cut, and with key or header of another.
    head = subprocess.run([PROBE, "message"], check=True, capture_output=True, text=True).stdout.split()
    key, channel, value = head
    foreign += [(key, channel, value[:-2]), ("-", channel, value), ("r1.2.3", channel, value), (key, "9", value),
                (key, "-", value)]
    for one in foreign:
        brokers.obey("publish", "S", *one)
    brokers.obey("publish", "S_layouts", "-", "-", "53424c415931")
    relay.start()
    relay.says(f"has {len(foreign)} messages near its end that no relay wrote")
    brokers.grows(20)
    epoch, records = end_ring(ring, writer, relay)
    done = subprocess.run([PROBE, "check", brokers.address()], capture_output=True, text=True, timeout=PATIENCE)
    assert f"{epoch} 1 {records} died\nlost 0 unknown 0 repeated 0 damaged {len(foreign)} wrong 0" in done.stdout, (
        done.stdout + done.stderr)
    for words in ("it has 1 bytes", "its checksum is wrong", "its key is of another", "its channel is of another"):
        assert words in done.stderr, done.stderr
    assert done.stderr.count("was left out") == len(foreign), done.stderr
    assert relay.stop() == 0


def hostile_topics():
    """Topics that do not exist; addresses, settings and options that are wrong; peers that are no brokers."""
    ring = ring_name("names")
    writer = writer_of(ring, 1)
    brokers = Brokers(topics=("T", "T_layouts"))
    for topic in ("T", "T_layouts"):
        brokers.obey("topic", topic, NO_TOPIC)
        relay = relay_of(ring, brokers, stream="T", label=f"relay-{topic}")
        relay.says(f"the brokers have no topic {topic}; make it with one partition; trying again")
        brokers.obey("topic", topic, 0)
        brokers.grows(10, "T")
        assert relay.stop() == 0
    settings = os.path.join(FOLDER, "settings")
    for text, words in (("transactional.id=x", "is not a setting of access"), ("ssl.ca.location", "line 1 is not KEY=VALUE"),
                        ("# secret\n\nsecurity.protocol = none", "setting of Kafka: Invalid value"),
                        ("plugin.library.paths=/tmp/x.so", "is not a setting of access")):
        with open(settings, "w") as out:
            out.write(text + "\n")
        os.chmod(settings, 0o600)
        relay = relay_of(ring, brokers, "--kafka-config", settings, stream="T", label="relay-settings")
        assert relay.ends() == 1, logs()
        assert words in relay.log(), relay.log()
        os.remove(relay.log_path)
    # A peer that says nothing of Kafka, and one that closes at once.
    for label, words in (("nonsense", bytes(range(256)) * 64), ("cut", b"\x00")):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            relay = Process(f"relay-{label}", [STOPBIT, "relay", ring,
                                               f"kafka://127.0.0.1:{listener.getsockname()[1]}/T"]).start()
            listener.settimeout(PATIENCE)
            client, _ = listener.accept()
            with client:
                client.sendall(words)
            relay.says("trying again")
            assert relay.stop() == 0
    # A certificate of no authority that this client knows.
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", os.path.join(FOLDER, "key"), "-out", os.path.join(FOLDER, "pem")], check=True,
                   capture_output=True)
    port = relay_test.free_port()
    Process("tls", ["openssl", "s_server", "-accept", str(port), "-key", "key", "-cert", "pem", "-quiet"]).start()
    relay_test.wait_for("a server of TLS", lambda: can_connect(port))
    with open(settings, "w") as out:
        out.write("security.protocol=ssl\n")
    relay = Process("relay-tls", [STOPBIT, "relay", ring, f"kafka://127.0.0.1:{port}/T", "--kafka-config", settings]).start()
    assert relay.ends() == 1, logs()
    assert "certificate verify failed" in relay.log(), relay.log()
    writer.kill()


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


def hostile():
    for test in (hostile_brokers, hostile_producers, hostile_topics):
        if len(sys.argv) > 7 and test.__name__ not in sys.argv[7:]:
            continue
        test()
        print("ok", test.__name__)


def read_back():
    relay_test.read_back_from(Brokers(), SAMPLE, "--limit", "8000")


def books():
    brokers = Brokers(topics=("B",))
    bucket = relay_test.Bucket(os.path.abspath(sys.argv[6]), brokers.address("B"))
    relay_test.books_in(brokers, bucket, "B", False)


if __name__ == "__main__":
    run({"killed": killed, "hostile": hostile, "read_back": read_back, "books": books}[sys.argv[1]])
