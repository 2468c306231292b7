#!/usr/bin/env python3
"""`stopbit relay` between a ring and a server of NATS, all of which can fail.

    relay_test.py killed STOPBIT PROBE              relay, server and writer are killed at random; STOPBIT_KILLS times
    relay_test.py hostile STOPBIT PROBE [TEST...]   what servers, networks and users do to a relay
    relay_test.py books STOPBIT PROBE VALUES        the states of instruments in a bucket, across kills
    relay_test.py refill STOPBIT PROBE              what a ring no longer has comes from its appliance's recorder
    relay_test.py read_back STOPBIT PROBE SAMPLE    tail, subscribe and the ring itself give the same records

Status 77: there is no nats-server here.
"""

import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

STOPBIT = os.path.abspath(sys.argv[2])
PROBE = os.path.abspath(sys.argv[3])
PATIENCE = 600  # seconds: for a hang, not for a slow machine
SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
FOLDER = tempfile.mkdtemp(prefix="relay-")
STARTED = []
FOREIGN = b"no message that a relay writes"


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no sign of this: {what}; logs in {FOLDER}:\n" + logs()
        time.sleep(0.02)


def logs():
    text = ""
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".log"):
            with open(os.path.join(FOLDER, name), errors="replace") as log:
                text += f"-- {name}\n" + "".join(log.readlines()[-15:])
    return text


class Process:
    """Its stderr is a log, which goes on when it is started again."""

    def __init__(self, label, command):
        self.label = label
        self.command = command
        self.log_path = os.path.join(FOLDER, label + ".log")
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=FOLDER)
        STARTED.append(self.process)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def ends(self):
        wait_for(f"the end of {self.label}", lambda: self.process.poll() is not None)
        return self.process.returncode

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def says(self, text, times=1):
        wait_for(f"'{text}' from {self.label}", lambda: self.log().count(text) >= times)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server(Process):
    def __init__(self, label="server", more="", stream=True):
        self.port = free_port()
        self.monitor = free_port()
        self.store = os.path.join(FOLDER, label + "-store")
        config = os.path.join(FOLDER, label + ".conf")
        with open(config, "w") as out:
            out.write(f'listen: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{self.monitor}"\n')
            if stream:
                out.write(f'jetstream {{ store_dir: "{self.store}" }}\n')
            out.write(more + "\n")
        super().__init__(label, [SERVER, "-c", config])

    def address(self, stream="S"):
        return f"nats://127.0.0.1:{self.port}/{stream}"

    def sequence(self, stream="S"):
        """Of the stream's last message; 0: none, or no server."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/jsz?streams=1", timeout=5) as answer:
                status = json.load(answer)
        except (OSError, ValueError):
            return 0
        for account in status.get("account_details", []):
            for one in account.get("stream_detail", []):
                if one["name"] == stream:
                    return one["state"]["last_seq"]
        return 0

    def is_up(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as client:
                return client.recv(4) == b"INFO"
        except OSError:
            return False

    def start(self):
        super().start()
        wait_for("the server", self.is_up)
        return self

    def request(self, subject, payload):
        """Published, with an inbox for the answer, which is not read."""
        self.publish(subject + " _INBOX.test", payload)

    def publish(self, subject, payload):
        """As any client does that may."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.sendall(b"CONNECT {\"verbose\":false}\r\nPUB %s %d\r\n%s\r\nPING\r\n" %
                           (subject.encode(), len(payload), payload))
            wait = b""
            while b"PONG" not in wait:
                wait += client.recv(4096)


def ring_name(label):
    return f"relay-{label}-{os.getpid()}"


def writer_of(ring, run, rate=4000):
    return Process(f"writer-{ring}", [PROBE, "write", ring, str(run), str(rate)]).start()


def relay_of(ring, server, *more, stream="S", label="relay"):
    return Process(label, [STOPBIT, "relay", ring, server.address(stream), *more]).start()


def count_of(ring):
    """Records that the ring has had, and its epoch."""
    records, epoch = subprocess.run([PROBE, "count", ring], check=True, capture_output=True, text=True).stdout.split()
    return int(records), int(epoch)


def check(server, wanted, stream="S"):
    """The stream has the rings of `wanted`, {epoch: records}, each record once and word for word."""
    done = subprocess.run([PROBE, "check", server.address(stream)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr + logs()
    return has_all(done.stdout, wanted)


def has_all(said, wanted):
    """What a probe that checks has said is that it read the rings of `wanted`, and nothing wrong."""
    lines = said.splitlines()
    got = {int(line.split()[0]): int(line.split()[2]) for line in lines[:-1]}
    assert lines[-1] == "lost 0 unknown 0 repeated 0 damaged 0 wrong 0", said + logs()
    assert got == wanted, (got, wanted)
    return sum(got.values())


def end_ring(ring, writer, relay):
    """Kills the writer; the relay stores the rest. The ring's epoch and records."""
    writer.kill()
    records, epoch = count_of(ring)
    relay.says(f"the ring made at {epoch} has ended with record {records};")
    return epoch, records


def killed():
    seed = int(os.environ.get("STOPBIT_SEED", "1"))
    kills = int(os.environ.get("STOPBIT_KILLS", "30"))
    chance = random.Random(seed)
    print(f"seed {seed}, {kills} kills")
    ring = ring_name("killed")
    server = Server().start()
    writer = writer_of(ring, 1)
    relay = relay_of(ring, server, "--feed", "killed")
    wanted = {}
    killed_of = {"relay": 0, "server": 0, "writer": 0}
    for kill in range(kills):
        target = server.sequence() + chance.randint(1, 60)
        wait_for("more messages", lambda: server.sequence() >= target)
        victims = chance.choice([["relay"], ["server"], ["writer"], ["relay", "server"], ["server", "relay"]])
        for victim in victims:
            killed_of[victim] += 1
        if victims == ["writer"]:
            # While the relay stores what is left of the ring, it or the server may be killed as well.
            writer.kill()
            also = chance.choice([None, relay, server])
            if also:
                also.kill()
                also.start()
            records, epoch = count_of(ring)
            # A relay that was replaced with its ring could not tell how many records it had.
            relay.says(f"the ring made at {epoch} has ended with record {records};")
            wanted[epoch] = records
            writer = writer_of(ring, kill + 2)
            continue
        for victim in victims:
            {"relay": relay, "server": server}[victim].kill()
        for victim in reversed(victims):
            {"relay": relay, "server": server}[victim].start()
    target = server.sequence() + 20
    wait_for("more messages", lambda: server.sequence() >= target)
    epoch, records = end_ring(ring, writer, relay)
    wanted[epoch] = records
    total = check(server, wanted)
    assert all(count > 0 for count in killed_of.values()) or kills < 20, killed_of
    assert relay.stop() == 0
    print(f"killed {killed_of}: {len(wanted)} rings, {total} records, each once and word for word")


def hostile_away():
    """The server comes after the relay, has no JetStream at first, stops reading, and goes on."""
    ring = ring_name("away")
    server = Server("away", stream=False)
    writer = writer_of(ring, 1)
    relay = relay_of(ring, server, label="relay-away")
    relay.says("trying again")
    server.start()
    relay.says("the server has no JetStream")
    server.kill()
    with open(server.command[2], "a") as config:
        config.write(f'jetstream {{ store_dir: "{server.store}" }}\n')
    server.start()
    wait_for("messages", lambda: server.sequence() > 50)
    server.process.send_signal(signal.SIGSTOP)
    relay.says("confirmed nothing for 5000 ms")
    server.process.send_signal(signal.SIGCONT)
    after = server.sequence()
    wait_for("more messages", lambda: server.sequence() > after + 50)
    epoch, records = end_ring(ring, writer, relay)
    check(server, {epoch: records})
    # A second relay of the same ring: it finds everything stored, and stores nothing again.
    other = relay_of(ring, server, "--once", label="relay-other")
    assert other.ends() == 0, logs()
    assert "0 records in 0 messages stored" in other.log(), other.log()
    check(server, {epoch: records})
    # A message that no relay wrote.
    server.publish(f"stopbit.{ring}.5", FOREIGN)
    relay.kill()
    relay.start()
    assert relay.ends() == 1
    assert "is foreign" in relay.log(), relay.log()
    # A reader leaves it out and says so.
    reader = Process("reader-foreign", [PROBE, "check", server.address()]).start()
    reader.says(f"was left out: it has {len(FOREIGN)} bytes")
    reader.kill()
    # An image that no decoder may run ends what would print by it.
    subscriber = Process("subscriber", [STOPBIT, "subscribe", server.address(), "--ring", ring_name("copy"),
                                        "--from-start"]).start()
    assert subscriber.ends() == 1
    assert "not safe to run" in subscriber.log(), subscriber.log()
    server.kill()


def hostile_names():
    """A host that does not exist, and addresses that are none."""
    ring = ring_name("names")
    lost = Process("relay-lost", [STOPBIT, "relay", ring, "nats://no-such-host.invalid/S"]).start()
    writer = writer_of(ring, 1)
    lost.says("no-such-host.invalid")
    lost.says("trying again")
    assert lost.stop() == 0
    writer.kill()
    for address, word in (("nats://me:secret@127.0.0.1/S", "has no user"), ("nats://127.0.0.1/S.x", "is not nats://"),
                          ("nats://127.0.0.1", "is not nats://")):
        done = subprocess.run([STOPBIT, "relay", ring, address], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and word in done.stderr and "secret" not in done.stderr, done.stderr


def hostile_servers():
    """Peers that are no servers: silent, talking nonsense, and lying about themselves."""
    ring = ring_name("servers")
    writer = writer_of(ring, 1)
    for label, words in (("silent", b""), ("nonsense", bytes(range(256)) * 4096), ("cut", b'INFO {"max_payload":'),
                         ("lying", b'INFO {"max_payload":-5,"headers":true}\r\n')):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"nats://127.0.0.1:{listener.getsockname()[1]}/S"
            relay = Process(f"relay-{label}", [STOPBIT, "relay", ring, address]).start()
            listener.settimeout(PATIENCE)
            client, _ = listener.accept()
            with client:
                try:
                    client.sendall(words)
                    while label == "lying" and b"PING" not in client.recv(4096):
                        pass
                    if label == "lying":
                        client.sendall(b"PONG\r\n")
                except OSError:
                    pass  # the relay has seen enough
                wait_for(f"what becomes of the server that is {label}",
                         lambda: "trying again" in relay.log() or relay.process.poll() is not None)
            assert ("raise max_payload" if label == "lying" else "cannot connect") in relay.log(), relay.log()
            assert (relay.stop() == 0) if relay.process.poll() is None else relay.process.returncode == 1, relay.log()
    writer.kill()


def hostile_secrets():
    """Passwords and tokens, right and wrong; files of them that others can read."""
    ring = ring_name("secrets")
    secret = os.path.join(FOLDER, "secret")
    for label, more, options in (
            ("password", 'authorization { user: "relay", password: "right" }', ["--nats-user", "relay",
                                                                               "--password-file", secret]),
            ("token", 'authorization { token: "right" }', ["--token-file", secret])):
        server = Server(label, more).start()
        writer = writer_of(ring, 1)
        for text, mode in (("wrong", 0o600), ("right", 0o644)):
            with open(secret, "w") as out:
                out.write(text + "\n")
            os.chmod(secret, mode)
            relay = relay_of(ring, server, *options, label=f"relay-{label}-{text}")
            if text == "wrong":
                assert relay.ends() == 1, logs()
                assert "uthorization" in relay.log(), relay.log()
                assert "warning" not in relay.log(), relay.log()
            else:
                wait_for("messages", lambda: server.sequence() > 10)
                assert "warning" in relay.log() and secret in relay.log(), relay.log()
                assert relay.stop() == 0
            assert text not in relay.log().replace(secret, ""), relay.log()
        writer.kill()
        server.kill()


def hostile_streams():
    """Streams of another use, full ones, and servers that take short messages only."""
    ring = ring_name("streams")
    server = Server("streams").start()
    writer = writer_of(ring, 1)
    relay = relay_of(ring, server, label="relay-first")
    wait_for("messages", lambda: server.sequence() > 10)
    other = relay_of(ring, server, "--feed", "other", label="relay-use")
    assert other.ends() == 1
    assert "is of another use" in other.log(), other.log()
    assert relay.stop() == 0
    full = relay_of(ring, server, "--feed", "full", "--max-bytes", "100000", "--keep-oldest", stream="FULL",
                    label="relay-full")
    full.says("maximum bytes exceeded")
    last = server.sequence("FULL")
    assert last > 0
    assert full.stop() == 0
    assert server.sequence("FULL") == last
    server.kill()
    small = Server("small", "max_payload: 60000").start()
    relay = relay_of(ring, small, label="relay-small")
    assert relay.ends() == 1
    assert "raise max_payload" in relay.log(), relay.log()
    writer.kill()
    small.kill()


def hostile_tls():
    """Certificates of the right authority and name, and of others."""
    ring = ring_name("tls")
    path = lambda name: os.path.join(FOLDER, name)
    for name, host in (("good", "localhost"), ("other", "elsewhere.example")):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}",
                        "-addext", f"subjectAltName=DNS:{host}", "-keyout", path(name + ".key"), "-out",
                        path(name + ".pem")], check=True, capture_output=True)
    for name in ("good", "other"):
        server = Server("tls-" + name, f'tls {{ cert_file: "{path(name + ".pem")}", key_file: "{path(name + ".key")}" }}')
        server.start()
        writer = writer_of(ring, 1)
        address = f"nats://localhost:{server.port}/S"
        relay = Process("relay-tls-" + name, [STOPBIT, "relay", ring, address, "--tls", "--ca", path(name + ".pem")])
        relay.start()
        if name == "good":
            wait_for("messages", lambda: server.sequence() > 10)
            assert relay.stop() == 0
        else:  # a name that the certificate does not have
            assert relay.ends() == 1, logs()
        for label, options in (("ca", ["--tls", "--ca", path("other.pem" if name == "good" else "good.pem")]),
                               ("clear", [])):
            relay = Process(f"relay-tls-{name}-{label}", [STOPBIT, "relay", ring, address, *options]).start()
            assert relay.ends() == 1, logs()
        writer.kill()
        server.kill()


def hostile():
    chosen = sys.argv[4:]
    for test in (hostile_names, hostile_servers, hostile_secrets, hostile_streams, hostile_tls, hostile_away):
        if chosen and test.__name__ not in chosen:
            continue
        test()
        print("ok", test.__name__)


def read_back_from(server, sample, *more):
    """The ring, its stream and a ring made of that give the same lines."""
    sample = os.path.abspath(sample)
    ring = ring_name("back")
    replay = Process("replay", [STOPBIT, "replay", f"{sample}/capture.pcap.gz", "--templates", f"{sample}/templates.xml",
                                "--framing", "cme", "--ring", ring, "--lossless", "2", "-q", *more])
    tails = {}

    def tail(label, *what):
        with open(os.path.join(FOLDER, label + ".jsonl"), "wb") as out, open(
                os.path.join(FOLDER, label + ".log"), "wb") as log:
            tails[label] = subprocess.Popen([STOPBIT, "tail", *what, "--header"], stdout=out, stderr=log)
        STARTED.append(tails[label])

    relay = relay_of(ring, server, "--once")
    tail("ring", ring, "--wait")
    replay.start()
    assert replay.ends() == 0, logs()
    assert relay.ends() == 0, logs()
    copy = ring_name("copy")
    subscriber = Process("subscriber", [STOPBIT, "subscribe", server.address(), "--ring", copy, "--from-start", "--once",
                                        "--lossless"]).start()
    tail("stream", server.address(), "--from-start")
    tail("copy", copy, "--wait")
    for label, one in tails.items():
        assert one.wait(timeout=PATIENCE) == 0, (label, logs())
    assert subscriber.ends() == 0, logs()
    texts = {}
    for label in tails:
        with open(os.path.join(FOLDER, label + ".jsonl"), "rb") as lines:
            texts[label] = lines.read()
    assert texts["ring"] and texts["ring"] == texts["stream"] == texts["copy"]
    # From a time on, which the records have and the server does not know.
    lines = texts["ring"].splitlines()
    times = [json.loads(line)["header"]["time"][:19] for line in lines]
    assert times == sorted(times) and times[0] < times[-1]
    since = times[len(times) // 2]
    for time, wanted in ((since, lines[times.index(since):]), ("2000-01-01", lines)):
        told = subprocess.run([STOPBIT, "tail", server.address(), "--since", time, "--header"], check=True,
                              capture_output=True, timeout=PATIENCE).stdout
        assert told.splitlines() == wanted, (time, told[:300])
    shown = subprocess.run([STOPBIT, "ring", "info", "--json", copy], check=True, capture_output=True, text=True).stdout
    facts = json.loads(shown)
    assert facts["heartbeat_ns"] >= facts["epoch"], facts
    print(len(texts["ring"].splitlines()), "lines, the same from the ring, the stream and the ring made of it")


APPLIANCE = """name = "{name}"
state = "state"
[recorder]
folder = "packets"
[rings]
slots = 32768
[[agent]]
name = "md"
[[port]]
name = "capture"
kind = "capture"
file = "day.pcap"
speed = 4
[[feed]]
file = "feed.toml"
a = "capture"
"""
FEED = """name = "replayed"
[[image]]
name = "cme"
templates = ["made/cme.xml"]
[[channel]]
number = 3
name = "incremental"
image = "cme"
framing = "cme"
ring = "{ring}"
window = {{ packets = 1024, time = "10s" }}
a = {{ group = "239.20.1.1", port = 20001 }}
b = {{ group = "239.20.2.1", port = 20002 }}
"""
EXCHANGE = """preset = "cme"
seed = 5
duration = "20s"
channels = 1
instruments = 20
rate = 4000
[line_a]
group = "239.20.1.1:20001"
impair = { loss = 0.01 }
[line_b]
group = "239.20.2.1:20002"
impair = { loss = 0.01 }
[impair_both]
loss = 0.002
"""


def refill():
    ring = ring_name("refill")
    path = lambda name: os.path.join(FOLDER, name)
    for name, text in (("feed", FEED.format(ring=ring)), ("appliance", APPLIANCE.format(name=ring)), ("sim", EXCHANGE)):
        with open(path(name + ".toml"), "w") as out:
            out.write(text)
    subprocess.run([STOPBIT, "simulate", "sim.toml", "-o", "day.pcap", "--write-feed", "made", "-q"], cwd=FOLDER, check=True)
    server = Server("server-refill").start()
    published = lambda: count_of(ring)[0]

    def overrun(relay, turn):
        """The relay is stopped, or does not run, while more records come than the ring holds."""
        if turn % 2 == 0:
            relay.process.send_signal(signal.SIGSTOP)
        else:
            relay.kill()
        target = published() + 8_000
        wait_for("an overrun ring", lambda: published() > target)

    def go_on(relay, turn):
        if turn % 2 == 0:
            relay.process.send_signal(signal.SIGCONT)
        else:
            relay.start()

    def run_day(label, turns):
        """Stops the relay at these turns; each gets what is done before it goes on, and what the relay has to say."""
        subprocess.run([STOPBIT, "ring", "rm", ring], capture_output=True)  # of the day before
        relay = relay_of(ring, server, "--settings", "appliance.toml", "--feed", label, stream=label, label="relay-" + label)
        appliance = Process("appliance-" + label, [STOPBIT, "run", "appliance.toml", "-q"]).start()
        wait_for("messages", lambda: server.sequence(label) > 10)
        for turn, (before, words, times) in enumerate(turns):
            overrun(relay, turn)
            before()
            go_on(relay, turn)
            relay.says(words, times)
        assert appliance.ends() == 0, logs()
        records, epoch = count_of(ring)
        relay.says(f"the ring made at {epoch} has ended with record {records};")
        status = relay.stop()
        told = subprocess.run([STOPBIT, "tail", server.address(label), "--from-start", "--header"], capture_output=True,
                              timeout=PATIENCE)
        return relay, records, status, told

    found = "are from the recording"
    relay, records, status, told = run_day("WHOLE", [(lambda: None, found, 1), (lambda: None, found, 2)])
    assert status == 0 and told.returncode == 0, logs()
    assert "lost, from record" not in relay.log(), logs()
    # The recorder's packets, decoded in one go, give the same records with the same heads.
    wanted = subprocess.run([STOPBIT, "replay", *glob.glob(path("packets/*.pcapng")), "--merge", "--feed", "feed.toml",
                             "--format", "jsonl", "--header", "-q"], cwd=FOLDER, capture_output=True).stdout
    assert len(told.stdout.splitlines()) == records, (len(told.stdout.splitlines()), records)
    assert told.stdout == wanted, (told.stdout[:500], wanted[:500])
    # A recording that lacks packets gives nothing: the relay and the stream say what is missing.
    remove = lambda: shutil.rmtree(path("packets"))
    relay, records, status, told = run_day("CUT", [(remove, "the recording does not have them", 1)])
    assert status == 1 and told.returncode == 1, logs()
    lost = sum(int(count) for count in re.findall(r"(\d+) records lost, from record \d+ on, slots \d+ to \d+", relay.log()))
    assert lost > 1_000 and len(told.stdout.splitlines()) + lost == records, (lost, records, told.stderr)
    assert b"records lost before they reached the stream" in told.stderr, told.stderr
    print(f"{len(wanted.splitlines())} records whole by the recording; without it {lost} lost and said so")


def read_back():
    read_back_from(Server().start(), sys.argv[4])


class Bucket:
    """Read by another program."""

    def __init__(self, *command):
        self.command = command

    def values(self):
        """{key: value}; empty if they cannot be read now."""
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=PATIENCE)
        return dict(line.split("\t", 1) for line in done.stdout.splitlines()) if done.returncode == 0 else {}

    def status(self):
        return json.loads(self.values().get("status", "{}"))


def states_of(ring):
    """What a bucket has to have of the ring's tables: {key: value}."""
    said = subprocess.run([STOPBIT, "states", ring, "--format", "jsonl"], check=True, capture_output=True, text=True).stdout
    epoch = subprocess.run([PROBE, "count", ring], check=True, capture_output=True, text=True).stdout.split()[1]
    wanted = {}
    for line in said.splitlines():
        key = json.loads(line)["instrument"].replace(" ", "=20")
        wanted[f"book.{key}"] = f'{{"epoch":{epoch},' + line[1:]
    return wanted


def tables_of(ring, rows=300, changes=200_000, label="tables"):
    writer = Process(label, [PROBE, "books", ring, str(rows), str(changes)]).start()
    return writer


def is_level(bucket, ring):
    values = bucket.values()
    values.pop("status", None)
    return values == states_of(ring)


def books_in(server, bucket, stream, kill_server):
    """Values are those of the tables whatever is killed, and are stale when nothing keeps them up to date."""
    ring = ring_name("books")
    relay = relay_of(ring, server, "--books", "50", stream=stream, label="relay-books")
    relay.says("waiting for tables")
    wait_for("a status", lambda: bucket.status().get("writer") == "absent")
    # The relay, or its server, is killed while rows change.
    writer = tables_of(ring, changes=20_000_000)
    relay.says("writing the states of ")  # of those that the writer has made by then
    wait_for("values", lambda: len(bucket.values()) > 300)
    for kill in range(6):
        victim = server if kill_server and kill % 2 else relay
        victim.kill()
        victim.start()
        before = bucket.status().get("time", 0)
        wait_for("a later status", lambda: bucket.status().get("time", 0) > before)
    writer.says("done")
    wait_for("the states of the tables", lambda: is_level(bucket, ring))
    # Nothing changes: only the status is written, and says that all is well.
    relay.kill()
    relay.start()
    before = bucket.status()["time"]
    wait_for("a later status", lambda: bucket.status()["time"] > before)
    assert bucket.status()["writer"] == "running" and is_level(bucket, ring)
    # The writer is stopped, goes on, and dies.
    books = lambda: [json.loads(value) for key, value in bucket.values().items() if key != "status"]
    writer.process.send_signal(signal.SIGSTOP)
    wait_for("stale books", lambda: all(book.get("cause") == "writer_silent" for book in books()))
    writer.process.send_signal(signal.SIGCONT)
    wait_for("books that are well again", lambda: is_level(bucket, ring))
    writer.kill()
    wait_for("stale books", lambda: all(book["book"] == "stale" and book["cause"] == "writer_died" for book in books()))
    assert bucket.status()["writer"] == "writer_died"
    # The next writer of the name has fewer instruments: what is not among them is stale.
    writer = tables_of(ring, rows=10, changes=1000)
    writer.says("done", 2)
    wanted = lambda: states_of(ring).items()
    wait_for("the next books", lambda: len(books()) == 300 and wanted() <= bucket.values().items())
    assert sum(book["book"] == "stale" for book in books()) >= 290
    assert relay.stop() == 0, logs()
    writer.kill()
    # With --once it ends with the tables.
    again = relay_of(ring, server, "--books", "50", "--once", stream=stream, label="relay-once")
    assert again.ends() == 0, logs()
    assert "10 values written" in again.log(), again.log()


def books():
    server = Server("server-books").start()
    bucket = Bucket(os.path.abspath(sys.argv[4]), f"nats://127.0.0.1:{server.port}", "books")
    books_in(server, bucket, "books", True)
    # Streams that are no buckets, and buckets that forget.
    ring = ring_name("books")
    writer = writer_of(ring_name("streams"), 1)
    stream = relay_of(ring_name("streams"), server, stream="KV_taken", label="relay-stream")
    wait_for("messages", lambda: server.sequence("KV_taken") > 0)
    assert stream.stop() == 0
    writer.kill()
    refused = relay_of(ring, server, "--books", "1", stream="taken", label="relay-taken")
    assert refused.ends() == 1 and "is no bucket" in refused.log(), logs()
    server.request("$JS.API.STREAM.CREATE.KV_short", json.dumps({
        "name": "KV_short", "subjects": ["$KV.short.>"], "max_msgs_per_subject": 1, "max_age": 3_600_000_000_000,
        "retention": "limits", "storage": "file", "num_replicas": 1, "discard": "new"}).encode())
    refused = relay_of(ring, server, "--books", "1", stream="short", label="relay-short")
    assert refused.ends() == 1 and "time to live" in refused.log(), logs()
    # Another writer of the bucket: the relay says so, and goes on.
    writer = tables_of(ring, changes=100)
    relay = relay_of(ring, server, "--books", "10", stream="books", label="relay-two")
    relay.says("writing the states")

    def is_noticed():
        # Once it is in the bucket the relay has to see it.
        if "foreign" not in bucket.values():
            server.publish("$KV.books.foreign", b"7")
        return "wrong last sequence" in relay.log()

    wait_for("what the relay says of a foreign value", is_noticed)
    wait_for("the states of the tables", lambda: states_of(ring).items() <= bucket.values().items())
    # A server that is stopped holds up only the relay, and has the newest values afterwards.
    server.process.send_signal(signal.SIGSTOP)
    relay.says("confirmed nothing for 5000 ms")
    server.process.send_signal(signal.SIGCONT)
    before = bucket.status()["time"]
    wait_for("a later status", lambda: bucket.status()["time"] > before)
    wait_for("the states of the tables", lambda: states_of(ring).items() <= bucket.values().items())
    assert relay.stop() == 0
    writer.kill()


def run(test):
    try:
        test()
    finally:
        for process in STARTED:
            if process.poll() is None:
                process.kill()
                process.wait()
        for label in ("killed", "away", "names", "servers", "secrets", "streams", "tls", "back", "copy", "books", "refill"):
            subprocess.run([STOPBIT, "ring", "rm", ring_name(label)], capture_output=True)
    shutil.rmtree(FOLDER)


def main():
    if SERVER is None:
        print("there is no nats-server here")
        sys.exit(77)
    run({"killed": killed, "hostile": hostile, "read_back": read_back, "books": books, "refill": refill}[sys.argv[1]])


if __name__ == "__main__":
    main()
