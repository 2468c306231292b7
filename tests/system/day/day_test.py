#!/usr/bin/env python3
"""`stopbit replay --jobs` and `--columns`: the same bytes on any number of cores, and the same values in columns as in JSON
lines, on the bundled sample, on random captures of many channels with damage, and on captures in STOPBIT_CORPUS.

    day_test.py STOPBIT SAMPLE_FOLDER PYTHON_PACKAGE_FOLDER SCRATCH [test ...]
"""

import decimal
import gzip
import importlib.util
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "appliance"))
import settings  # noqa: E402  (it is in another folder)

STOPBIT, SAMPLE, PACKAGE, SCRATCH = (os.path.abspath(path) for path in sys.argv[1:5])
CORPUS = os.environ.get("STOPBIT_CORPUS")
LONG = bool(os.environ.get("STOPBIT_LONG"))  # all formats, numbers of jobs and captures
PACKETS = int(os.environ.get("STOPBIT_PACKETS", 4000))  # of a random capture
CORPUS_FEEDS = {"cme-mdp-2012": "cme", "complex30000": "none", "eurex-rdi-2016": "t7", "moex-asts-trades-2019": "moex"}
SAMPLE_FEED = [f"{SAMPLE}/capture.pcap.gz", "--templates", f"{SAMPLE}/templates.xml", "--framing", "cme"]

TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1">
    <uInt32 name="Number"><copy/></uInt32>
    <string name="Symbol" presence="optional"><copy/></string>
    <decimal name="Price" presence="optional"/>
    <sequence name="Sizes"><length name="NoSizes"/><uInt32 name="Size"/><int64 name="Change" presence="optional"/></sequence>
    <string name="Venue"><constant value="X"/></string>
  </template>
  <template name="Tick" id="2"><uInt64 name="Number"><increment/></uInt64></template>
</templates>"""

# Names that would be paths, and others that no file can have.
HOSTILE = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="../../outside" id="1">
    <uInt32 name="../x"/><uInt32 name="/etc/passwd"/><uInt32 name=".."/><uInt32 name="index.json"/>
    <sequence name="../../../s"><length name="n"/><string name="%s"/></sequence>
  </template>
</templates>""" % ("long" * 60)


def load_folder_module():
    spec = importlib.util.spec_from_file_location("stopbit_folder", f"{PACKAGE}/_folder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stop_bits(value, signed=False):
    groups = [value & 0x7F]
    value >>= 7
    while value not in ((0, -1) if signed else (0,)):
        groups.append(value & 0x7F)
        value >>= 7
    if signed and bool(groups[-1] & 0x40) != (value == -1):
        groups.append(value & 0x7F)
    groups[0] |= 0x80
    return bytes(reversed(groups))


def nullable(value, signed=False):
    return b"\x80" if value is None else stop_bits(value + 1 if value >= 0 else value, signed)


def quote(rng):
    has_symbol = rng.random() < 0.5
    pmap = 0x80 | 0x40 | 0x20 | (0x10 if has_symbol else 0)
    body = bytes([pmap]) + stop_bits(1) + stop_bits(rng.randrange(1 << rng.randrange(1, 33)))
    if has_symbol:
        text = "".join(rng.choice('ABC,"\\ \n{z') for _ in range(rng.randrange(0, 20)))
        body += bytes(text[:-1], "ascii") + bytes([ord(text[-1]) | 0x80]) if text else b"\x80"
    if rng.random() < 0.3:
        body += b"\x80"
    else:
        body += nullable(rng.randrange(-6, 4), True) + stop_bits(rng.randrange(-(1 << 40), 1 << 40), True)
    sizes = rng.randrange(0, 5)
    body += stop_bits(sizes)
    for _ in range(sizes):
        change = None if rng.random() < 0.4 else rng.randrange(-(1 << 62), 1 << 62)
        body += stop_bits(rng.randrange(1 << 20)) + nullable(change, True)
    return body


def frame(group, port, source, payload):
    udp = struct.pack("!HHHH", 20000, port, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(udp), 0, 0, 16, 17, 0, source, group)
    return b"\x01\x00\x5e\x00\x00\x01\x02\x00\x00\x00\x00\x01\x08\x00" + ip + udp


def random_capture(seed, channels=9, packets=PACKETS):
    """Two lines of each channel, with loss, reordering, copies, cut and damaged packets."""
    rng = random.Random(seed)
    sequence = [0] * channels
    queue = []
    now = 1_700_000_000_000_000_000
    for _ in range(packets):
        now += rng.randrange(0, 400_000) if rng.random() < 0.98 else 5_000_000
        channel = min(int(rng.expovariate(0.4)), channels - 1)
        sequence[channel] += 1
        messages = b"".join(quote(rng) if rng.random() < 0.8 else b"\xc0\x82" for _ in range(rng.randrange(1, 4)))
        payload = struct.pack("!IB", sequence[channel], channel) + messages
        for line in range(2):
            if rng.random() < 0.1:
                continue
            sent = payload
            if rng.random() < 0.02:
                sent = bytearray(payload)
                sent[rng.randrange(len(sent))] ^= 1 << rng.randrange(8)
                sent = bytes(sent)
            if rng.random() < 0.01:
                sent = sent[: rng.randrange(len(sent))]
            late = rng.randrange(0, 300_000) if rng.random() < 0.95 else rng.randrange(0, 8_000_000)
            queue.append((now + late, line, frame(0xEF010100 + channel, 31000 + line, 0x0A000001 + line, sent)))
    queue.append((now, 0, b"\x00" * 14))
    queue.sort(key=lambda item: item[0])
    return queue


def pcap(packets):
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for time, _, data in packets:
        cut = len(data) - 3 if time % 499 == 0 and len(data) > 40 else len(data)
        out.append(struct.pack("<IIII", time // 1_000_000_000, time % 1_000_000_000, cut, len(data)) + data[:cut])
    return b"".join(out)


def feed_toml(channels):
    text = '[[image]]\nname = "i"\ntemplates = ["t.xml"]\n[defaults]\nframing = "custom:skip=5,seq=u32be@0,reset=packet"\n'
    for channel in range(channels):
        text += f'[[channel]]\nnumber = {900 - 7 * channel}\nname = "c{channel}"\n'
        text += f'a = {{ group = "239.1.1.{channel}", port = 31000 }}\nb = {{ group = "239.1.1.{channel}", port = 31001 }}\n'
    return text


def two_image_toml(channels):
    text = feed_toml(channels).replace("[defaults]", '[[image]]\nname = "j"\ntemplates = ["t.xml"]\n[defaults]')
    parts = text.split("[[channel]]\n")
    return "[[channel]]\n".join(parts[:1] + [f'image = "{"ij"[i % 2]}"\n' + part for i, part in enumerate(parts[1:])])


def summary_of(stderr):
    """Without times and rates."""
    return re.sub(r", [0-9,]+ per second| in [0-9.]+ s\b", "", stderr.decode())


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


class Folder(unittest.TestCase):
    def setUp(self):
        os.makedirs(SCRATCH, exist_ok=True)
        self.folder = tempfile.mkdtemp(dir=SCRATCH)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def stopbit(self, *arguments, status=None, **more):
        done = subprocess.run([STOPBIT, *arguments], capture_output=True, timeout=600, check=False, **more)
        self.assertGreaterEqual(done.returncode, 0, done.stderr[-2000:])
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr[-2000:])
        return done

    def random_feeds(self):
        """Names and arguments of random captures: by group, by feed, by feed with two images, merged from two files."""
        self.write("t.xml", TEMPLATES)
        feed = self.write("feed.toml", feed_toml(9))
        two = self.write("two.toml", two_image_toml(9))
        for seed in range(3):
            packets = random_capture(seed)
            day = self.write(f"day{seed}.pcap", pcap(packets)[: -7 if seed == 1 else None])
            groups = ["--templates", self.path("t.xml"), "--framing", "custom:skip=5,seq=u32be@0,reset=packet"]
            yield f"groups {seed}", [day, *groups]
            yield f"never reset {seed}", [day, *groups[:-1], "custom:skip=5,seq=u32be@0,reset=never"]
            yield f"feed {seed}", [day, "--feed", feed]
            yield f"two images {seed}", [day, "--feed", two]
            lines = [self.write(f"line{line}.pcap", pcap([p for p in packets if p[1] == line])) for line in range(2)]
            with open(lines[1], "rb") as plain:
                lines[1] = self.write("line1.pcap.gz", gzip.compress(plain.read()))
            yield f"merged {seed}", [*lines, "--merge", "--feed", feed]
            yield f"in turn {seed}", [*lines, "--feed", feed]

    def corpus_feeds(self):
        for name, framing in CORPUS_FEEDS.items():
            folder = f"{CORPUS}/{name}"
            yield name, [f"{folder}/capture.pcap", "--templates", f"{folder}/templates.xml", "--framing", framing]


class Jobs(Folder):
    def check(self, feeds, formats=("jsonl", "csv", "fix", "fix-raw")):
        for name, feed in feeds:
            for form in formats:
                with self.subTest(feed=name, format=form):
                    one = self.stopbit("replay", *feed, "--format", form)
                    self.assertGreater(len(one.stdout), 1000)
                    for jobs in ("2", "4") if LONG else ("3",):
                        more = self.stopbit("replay", *feed, "--format", form, "--jobs", jobs)
                        self.assertEqual(more.returncode, one.returncode, more.stderr[-2000:])
                        self.assertTrue(more.stdout == one.stdout, f"other output with {jobs} jobs")
                        self.assertEqual(summary_of(more.stderr), summary_of(one.stderr))

    def test_sample(self):
        feed = self.write("sample.toml", settings.sample_feed(templates=f"{SAMPLE}/templates.xml", ring="unused"))
        self.check([("sample", SAMPLE_FEED), ("sample feed", [SAMPLE_FEED[0], "--feed", feed])])

    def test_random_captures_with_damage(self):
        for index, (name, feed) in enumerate(self.random_feeds()):
            seed, kind = divmod(index, 6)
            if not LONG and (seed + kind) % 3:
                continue  # each kind once
            self.check([(name, feed)], ("jsonl", "csv", "fix", "fix-raw") if LONG or kind < 3 else ("jsonl", "csv"))

    @unittest.skipUnless(CORPUS, "STOPBIT_CORPUS is not set")
    def test_corpus(self):
        if LONG:
            self.check(self.corpus_feeds())
        else:
            self.check(self.corpus_feeds(), ("jsonl",))

    def test_damage_is_in_the_captures(self):
        """Else the others would compare little."""
        texts = {name: self.stopbit("replay", *feed).stdout for name, feed in self.random_feeds()}
        for needle in (b'"error":"D', b'"event":"dropped"'):
            self.assertIn(needle, texts["never reset 0"])
        self.assertIn(b'"event":"gap"', texts["feed 0"])
        self.assertIn(b"Quote", texts["groups 1"])

    def test_a_reader_that_has_gone_is_no_error(self):
        with subprocess.Popen([STOPBIT, "replay", *SAMPLE_FEED, "-j", "3"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.read(10)
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(120), 0)

    def test_a_pipe_that_is_quiet_is_decoded_and_can_be_interrupted(self):
        capture = pcap(random_capture(7)[:400])
        self.write("t.xml", TEMPLATES)
        feed = ["--templates", self.path("t.xml"), "--framing", "custom:skip=5,seq=u32be@0,reset=packet"]
        whole = self.stopbit("replay", self.write("whole.pcap", capture), *feed).stdout
        for jobs in ("1", "3"):
            with self.subTest(jobs=jobs), subprocess.Popen(
                [STOPBIT, "replay", "-", *feed, "-j", jobs, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as process:
                process.stdin.write(capture)
                process.stdin.flush()
                # The pipe stays open. On one core the lines wait for the next look at the clock.
                seen = process.stdout.read(len(whole) // 4) if jobs != "1" else b""
                while not catches_interrupts(process.pid):
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                self.assertTrue(whole.startswith(seen + process.stdout.read()))
                errors = process.stderr.read()
                self.assertIn(b"Stopped before the end", errors)
                self.assertEqual(process.wait(timeout=120), 130)

    def test_options_that_need_one_core(self):
        for more in (["--limit", "5"], ["--pace", "1x"], ["--ring", "r"]):
            done = self.stopbit("replay", *SAMPLE_FEED, "-j", "2", *more, status=2)
            self.assertIn(b"one core only", done.stderr)


def json_lines(text):
    return [json.loads(line, parse_float=decimal.Decimal) for line in text.decode().splitlines()]


class Pipes(Folder):
    def test_a_signal_ends_the_wait_at_a_silent_pipe(self):
        with gzip.open(f"{SAMPLE}/capture.pcap.gz") as file:
            capture = file.read()
        out = self.path("out.pcap")
        for command in (["compare", "-", f"{SAMPLE}/capture.pcap.gz", "--framing", "cme"],
                        ["profile", "-", *SAMPLE_FEED[1:], "-o", self.path("profile.json")],
                        ["impair", "-", "-o", out, "--loss", "0.1"]):
            with self.subTest(command=command[0]), subprocess.Popen(
                [STOPBIT, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE) as process:
                process.stdin.write(capture)
                process.stdin.flush()
                while not catches_interrupts(process.pid):
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=200)  # the pipe stays open
                finally:
                    process.kill()
                self.assertIn(process.returncode, (0, 1, 143), process.stderr.read())


class Columns(Folder):
    """Messages put together again from columns are those of JSON lines."""

    def texts(self, arrays, name, row):
        begin = int(arrays[name + ":offsets"][row])
        return bytes(arrays[name + ":bytes"][begin : begin + int(arrays[name + ":lengths"][row])])

    def value(self, column, arrays, row):
        name, kind, type_name = column["name"], column["kind"], column.get("type")
        if kind == "constant":
            return self.constant(column)
        if kind == "decimal":
            exponent = int(arrays[name + ":exponent"][row])
            mantissa = int(arrays[name + ":mantissa"][row])
            return decimal.Decimal(mantissa).scaleb(exponent)
        if kind == "text":
            return self.text(type_name, self.texts(arrays, name, row))
        if type_name == "enum":
            return column["elements"][int(arrays[name + ":index"][row])]
        if type_name == "set":
            bits = int(arrays[name][row])
            return [element for i, element in enumerate(column["elements"]) if bits >> i & 1]
        if type_name == "boolean":
            return bool(arrays[name][row])
        return int(arrays[name][row])

    def text(self, type_name, value):
        if type_name == "byteVector":
            return value.hex()
        return value.decode("latin-1") if type_name == "string" else value.decode("utf-8", "replace")

    def constant(self, column):
        value, type_name = column["constant"], column["type"]
        if type_name == "decimal":
            return decimal.Decimal(value)
        if type_name in ("string", "unicode", "byteVector"):
            return self.text(type_name, bytes.fromhex(value))
        if type_name == "enum":
            return column["elements"][value]
        return bool(value) if type_name == "boolean" else value

    def message(self, tables, name, row):
        """As a JSON line has it."""
        columns, arrays = tables[name]["columns"], self.arrays[name]
        result = {}
        for column in columns:
            present = arrays.get(column["name"] + ":present")
            if present is not None and not present[row]:
                continue
            *path, key = column["name"].split(".")
            place = result
            for step in path:
                place = place.setdefault(step, {})
            if column["kind"] == "group":
                place.setdefault(key, {})
            elif column["kind"] == "count":
                inner = f"{name}/{column['name']}"
                count = int(arrays[column["name"]][row])
                first = self.taken.get(inner, 0)
                self.taken[inner] = first + count
                elements = []
                for element in range(first, first + count):
                    self.assertEqual(int(self.arrays[inner]["@parent"][element]), row)
                    whole = self.message(tables, inner, element)
                    elements.append(whole["value"] if [c["name"] for c in tables[inner]["columns"]] == ["value"] else whole)
                place[key] = elements
            elif column["kind"] == "reference":
                inner = self.templates[int(arrays[column["name"] + ":template:index"][row])]
                child = int(arrays[column["name"]][row])
                self.assertTrue(self.arrays[inner]["@reference"][child])
                place[key] = {"template": inner, "fields": self.message(tables, inner, child)}
            else:
                place[key] = self.value(column, arrays, row)
        return result

    def without_ids(self, value):
        if isinstance(value, dict):
            return {key: self.without_ids(item) for key, item in value.items() if key != "id" or "fields" not in value}
        return [self.without_ids(item) for item in value] if isinstance(value, list) else value

    def check(self, name, feed, jobs):
        done = self.stopbit("replay", *feed, "--format", "jsonl", "-q")
        lines = json_lines(done.stdout)
        out = self.path(f"out-{name}-{jobs}".replace(" ", "-"))
        columns = self.stopbit("replay", *feed, "--columns", out, "-q", "-j", jobs)
        self.assertEqual(columns.returncode, done.returncode, columns.stderr)
        with open(f"{out}/index.json", encoding="utf-8") as file:
            index = json.load(file)
        self.assertEqual(index["records"], len(lines))
        self.arrays = load_folder_module().open_folder(out)
        several = len(index["images"]) > 1
        checked = 0
        for image in index["images"]:
            tables = {(image["image"] + ":" if several else "") + table["name"]: table for table in image["tables"]}
            self.templates = image["templates"]
            self.taken = {}
            for table, content in tables.items():
                if "@record" not in content["head"]:
                    continue
                arrays = self.arrays[table]
                for row, record in enumerate(arrays["@record"]):
                    if "@reference" in arrays and arrays["@reference"][row]:
                        continue
                    line = self.without_ids(lines[int(record)])
                    self.assertEqual(line["template"], content["name"])
                    self.assertEqual(self.message(tables, table, row), line["fields"])
                    checked += 1
        events = self.arrays["@events"]
        for row, record in enumerate(events["@record"]):
            line = lines[int(record)]
            kind = events["kind"][row]
            self.assertEqual(kind, line.get("event", "error"))
            if kind == "gap":
                self.assertEqual((int(events["packet"][row]), int(events["offset"][row])), (line["missing"], line["first"]))
            elif "packet" in line:
                self.assertEqual(int(events["packet"][row]), line["packet"])
        self.assertEqual(checked + len(events["@record"]), len(lines))
        return out

    def test_sample(self):
        self.check("sample", SAMPLE_FEED, "1")

    def test_random_captures_with_damage(self):
        for name, feed in self.random_feeds():
            if name[-1] == "0":
                with self.subTest(name):
                    one = self.check(name, feed, "1")
                    two = self.check(name, feed, "3")
                    for file in os.listdir(one):
                        with open(f"{one}/{file}", "rb") as a, open(f"{two}/{file}", "rb") as b:
                            self.assertTrue(a.read() == b.read(), file)

    @unittest.skipUnless(CORPUS, "STOPBIT_CORPUS is not set")
    def test_corpus(self):
        for name, feed in self.corpus_feeds():
            if LONG or name.startswith(("eurex", "moex")):
                with self.subTest(name):
                    self.check(name, feed, "1")

    def test_a_template_that_refers_to_itself(self):
        self.write("t.xml", """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
          <template name="Node" id="1"><uInt32 name="Before"/><templateRef/><string name="After"/>
            <uInt32 name="Last" presence="optional"/></template>
          <template name="Leaf" id="2"><uInt32 name="Value"/></template></templates>""")
        node = b"\xc0\x81" + stop_bits(1) + b"\xc0\x81" + stop_bits(2) + b"\xc0\x82" + stop_bits(3)
        node += b"inne\xf2" + b"\x80" + b"oute\xf2" + stop_bits(8)
        day = self.write("day.pcap", pcap([(10**18 + 1, 0, frame(0xEF010101, 31000, 1, node))]))
        self.check("nested", [day, "--templates", self.path("t.xml"), "--framing", "none"], "1")

    def test_hostile_names_stay_in_the_folder(self):
        self.write("t.xml", HOSTILE)
        message = b"\xc0\x81" + stop_bits(1) + stop_bits(2) + stop_bits(3) + stop_bits(4) + stop_bits(1) + b"hell\xef"
        day = self.write("day.pcap", pcap([(10**18 + 1, 0, frame(0xEF010101, 31000, 1, message))]))
        os.makedirs(self.path("a/b/c"))
        before = sorted(os.walk(self.folder))
        out = self.path("a/b/c/out")
        self.stopbit("replay", day, "--templates", self.path("t.xml"), "--framing", "none", "--columns", out, status=0)
        names = os.listdir(out)
        self.assertIn("index.json", names)
        for name in names:
            self.assertRegex(name, r"\A([0-9]{5}-[A-Za-z0-9_-]{1,80}\.npy|index\.json)\Z")
        shutil.rmtree(out)
        self.assertEqual(sorted(os.walk(self.folder)), before)

    def test_an_index_cannot_name_files_outside(self):
        out = self.check("sample", SAMPLE_FEED, "1")
        with open(f"{out}/index.json", encoding="utf-8") as file:
            index = json.load(file)
        index["events"]["columns"]["kind"] = "../secret.npy"
        self.write("index.json", json.dumps(index))
        shutil.copy(self.path("index.json"), out)
        with self.assertRaisesRegex(ValueError, "outside the folder"):
            load_folder_module().open_folder(out)

    def test_a_folder_is_replaced_only_by_force(self):
        out = self.path("out")
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, status=0)
        self.write("out/mine.txt", "mine")
        self.write("out/99999-old.npy", "old")
        before = sorted(os.listdir(out))
        done = self.stopbit("replay", *SAMPLE_FEED, "--columns", out, status=3)
        self.assertIn(b"is not empty; --force replaces", done.stderr)
        self.assertEqual(sorted(os.listdir(out)), before)
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, "--force", status=0)
        self.assertEqual(sorted(os.listdir(out)), sorted(set(before) - {"99999-old.npy"}))

    def test_an_index_of_something_else_is_never_replaced(self):
        os.mkdir(self.path("out"))
        self.write("out/index.json", '{"format":"a web page"}')
        done = self.stopbit("replay", *SAMPLE_FEED, "--columns", self.path("out"), "--force", status=3)
        self.assertIn(b"is not an index of columns", done.stderr)
        self.assertEqual(os.listdir(self.path("out")), ["index.json"])

    def test_columns_of_a_cut_capture_are_said_to_be(self):
        self.write("t.xml", TEMPLATES)
        day = self.write("day.pcap", pcap(random_capture(1, packets=200))[:-7])
        feed = [day, "--templates", self.path("t.xml"), "--framing", "custom:skip=5,seq=u32be@0,reset=packet"]
        self.stopbit("replay", *feed, "--columns", self.path("cut"), status=1)
        with self.assertWarnsRegex(RuntimeWarning, "not whole"):
            self.assertIn("Quote", load_folder_module().open_folder(self.path("cut")))

    def test_a_run_that_cannot_begin_replaces_nothing(self):
        out = self.path("out")
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, status=0)
        before = sorted(os.listdir(out))
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, "--force", "--ring", self.path("no/ring"), status=3)
        self.assertEqual(sorted(os.listdir(out)), before)

    def test_a_link_is_not_followed(self):
        out = self.path("out")
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, status=0)
        name = sorted(os.listdir(out))[0]
        self.write("victim", "safe")
        os.remove(f"{out}/{name}")
        os.symlink(self.path("victim"), f"{out}/{name}")
        self.stopbit("replay", *SAMPLE_FEED, "--columns", out, "--force", status=0)
        with open(self.path("victim"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "safe")

    def test_a_full_disk_leaves_nothing_that_looks_complete(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        out = self.path("out")
        for jobs in ("1", "3"):
            done = self.stopbit("replay", *SAMPLE_FEED, "--columns", out, "--force", "-j", jobs, status=3,
                                preexec_fn=small_files)
            self.assertIn(b"cannot write " + out.encode(), done.stderr)
            self.assert_incomplete(out)

    def test_a_folder_that_cannot_be_made(self):
        self.write("file", "")
        done = self.stopbit("replay", *SAMPLE_FEED, "--columns", self.path("file/out"), status=3)
        self.assertIn(b"cannot make the folder", done.stderr)

    def test_interrupted_it_leaves_nothing_that_looks_complete(self):
        with gzip.open(f"{SAMPLE}/capture.pcap.gz") as file:
            capture = file.read()
        for jobs in ("1", "2"):
            out = self.path("out" + jobs)
            with subprocess.Popen([STOPBIT, "replay", "-", *SAMPLE_FEED[1:], "--columns", out, "-j", jobs],
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdin.write(capture[: len(capture) // 2])
                process.stdin.flush()
                while not (os.path.isdir(out) and os.listdir(out)):
                    self.assertIsNone(process.poll())
                while not catches_interrupts(process.pid):
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                errors = process.stderr.read()  # before the pipe to it is closed: that would be the end of the capture
                process.wait(timeout=120)
                self.assertEqual(process.returncode, 130, errors)
                self.assertIn(b"incomplete", errors)
            self.assert_incomplete(out)

    def assert_incomplete(self, out):
        self.assertNotIn("index.json", os.listdir(out))
        with self.assertRaisesRegex(FileNotFoundError, "incomplete"):
            load_folder_module().open_folder(out)
        for name in os.listdir(out):
            with open(f"{out}/{name}", "rb") as file:
                self.assertNotEqual(file.read(6), b"\x93NUMPY", name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
