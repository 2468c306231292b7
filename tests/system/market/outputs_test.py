#!/usr/bin/env python3
"""Market events in every form are those of the JSON lines: rows of CSV, messages in SBE read by a decoder that knows only
the generated schema, and columns. Errors are reported, and leave nothing that looks complete.

    outputs_test.py STOPBIT SAMPLE_FOLDER PYTHON_PACKAGE_FOLDER SCRATCH [test ...]
"""

import csv
import decimal
import importlib.util
import io
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import sbe

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "appliance"))
import settings  # noqa: E402  (it is in another folder)

STOPBIT, SAMPLE, PACKAGE, SCRATCH = (os.path.abspath(path) for path in sys.argv[1:5])
CORPUS = os.environ.get("STOPBIT_CORPUS")

# Every kind of value in few messages: states, statistics, trades, losses, decimals of quantities, keys that need quotes.
TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Refresh" id="2"><uInt32 name="Seq"/><uInt64 name="Sent"/><sequence name="Entries">
    <string name="Type"/><string name="Security" charset="unicode"/><uInt32 name="Number"/><uInt32 name="Level" presence="optional"/>
    <decimal name="Price" presence="optional"/><decimal name="Size" presence="optional"/><string name="Id" presence="optional"/>
  </sequence></template>
  <template name="Status" id="3"><uInt32 name="Seq"/><string name="Security" charset="unicode"/><uInt32 name="Phase"/></template>
</templates>"""
MAP = """[feed]
name = "demo"
quantity_decimals = 2
time = "Sent"
time_format = "ns"
[sequence]
message = "Seq"
entry = "Number"
[instrument]
key = ["Security"]
[[book]]
by = "level"
depth = 2
position = "Level"
price = "Price"
quantity = "Size"
[[message]]
kind = "incremental"
templates = ["Refresh"]
entries = "Entries"
[[message]]
kind = "state"
templates = ["Status"]
state = { field = "Phase", scale = "phase" }
[[entry]]
when = { Type = "J" }
role = "empty"
[[entry]]
when = { Type = "2" }
role = "trade"
id = "Id"
[[entry]]
when = { Type = "7" }
role = "statistic"
statistic = "high"
[[entry]]
role = "book"
side_field = "Type"
sides = { 0 = "bid", 1 = "ask" }
[scale]
phase = { open = [17], halted = [18] }
"""


def load_folder_module():
    spec = importlib.util.spec_from_file_location("stopbit_folder", f"{PACKAGE}/_folder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(text):
    return [json.loads(line, parse_float=decimal.Decimal) for line in text.splitlines()]


def number(cell):
    return decimal.Decimal(cell) if "." in cell else int(cell)


class Outputs(unittest.TestCase):
    def setUp(self):
        os.makedirs(SCRATCH, exist_ok=True)
        self.folder = tempfile.mkdtemp(dir=SCRATCH)
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return f"{self.folder}/{name}"

    def stopbit(self, *arguments, status=0, **more):
        done = subprocess.run([STOPBIT, *arguments], capture_output=True, check=False, **more)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stderr.decode(errors='replace')}")
        return done.stdout if status == 0 else done.stderr

    def sample(self):
        return [f"{SAMPLE}/capture.pcap.gz", "--templates", f"{SAMPLE}/templates.xml", "--framing", "cme", "--map",
                f"{SAMPLE}/map.toml", "-q"]

    def demo(self):
        entry = {"Security": 'A,"b"\\\n', "Number": 1}
        messages = [
            [{**entry, "Type": "J"}, {**entry, "Type": "0", "Number": 2, "Level": 1, "Price": 10.5, "Size": 3.25}],
            [{**entry, "Type": "1", "Number": 3, "Level": 1, "Price": -11, "Size": 4},
             {**entry, "Type": "2", "Number": 4, "Price": 10.5, "Size": 1, "Id": "77"}],
            [{**entry, "Type": "7", "Number": 9, "Price": 12},
             {"Security": "Caf\u00e9", "Number": 1, "Type": "0", "Level": 2, "Price": 0.000000001}],
        ]
        texts = [{"template": "Refresh", "fields": {"Seq": 1 + i, "Sent": 900 + i, "Entries": entries}}
                 for i, entries in enumerate(messages)]
        texts.append({"template": "Status", "fields": {"Seq": 4, "Security": 'A,"b"\\\n', "Phase": 17}})
        texts.append({"template": "Refresh", "fields": {"Seq": 7, "Sent": 950, "Entries": [{"Type": "J", "Number": 1, "Security": "B"}]}})
        for name, text in (("t.xml", TEMPLATES), ("m.toml", MAP), ("day.jsonl", "\n".join(map(json.dumps, texts)))):
            pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        feed = ["--templates", self.path("t.xml"), "--framing", "moex", "-q"]
        self.stopbit("encode", self.path("day.jsonl"), *feed, "--start", "1000", "-o", self.path("day.pcap"))
        return [self.path("day.pcap"), *feed, "--map", self.path("m.toml")]

    def feeds(self):
        yield "sample", self.sample()
        yield "demo", self.demo()
        if CORPUS:
            folder = f"{CORPUS}/cme-mdp-2012"
            yield "cme-mdp-2012", [f"{folder}/capture.pcap", "--templates", f"{folder}/templates.xml", "--framing", "cme",
                                   "--map", "cme-mdp2", "--limit", "3000", "-q"]

    def check_sbe(self, data, lines):
        schema = sbe.Schema(self.stopbit("gen", "schema", "--sbe"))
        found = list(schema.decode(data))
        self.assertEqual({name for name, _ in found}, {"MarketEvent"})
        self.assertEqual([sbe.line_of(event, schema) for _, event in found], lines)

    def check_csv(self, text, lines):
        rows = list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, lines):
            self.assertEqual((row["kind"], row["flags"].split()), (line["event"], line.get("flags", [])))
            self.assertEqual(row["instrument"], str(line["instrument"]))
            for cell in ("channel", "sequence", "time"):
                self.assertEqual(int(row[cell]), line[cell])
            for cell in ("side", "price", "quantity", "delay"):
                self.assertEqual(row[cell] if cell == "side" else number(row[cell]) if row[cell] else "",
                                 line.get(cell, ""), (cell, row, line))
            self.assertEqual(row["book"] == "implied", "book" in line)
            if isinstance(line.get("level"), int):
                self.assertEqual(int(row["level"]), line["level"])
            if isinstance(line.get("id"), int):
                self.assertEqual(int(row["id"]), line["id"])

    def check_columns(self, folder, lines):
        tables = load_folder_module().open_folder(folder)
        events, instruments = tables["events"], tables["instruments"]
        schema = sbe.Schema(self.stopbit("gen", "schema", "--sbe"))
        fields = {name: made for name, made in schema.messages[1][2] if name not in ("key", "quantity_decimals")}
        self.assertEqual(set(events), set(fields))
        self.assertEqual({len(column) for column in events.values()}, {len(lines)})
        arrays = {name: column.tolist() for name, column in events.items()}
        decimals = int(instruments["quantity_decimals"][0])
        for row, line in enumerate(lines):
            event = {"quantity_decimals": decimals, "key": instruments["key"][arrays["instrument"][row]]}
            for name, made in fields.items():
                value = arrays[name][row]
                event[name] = made.read(int(value).to_bytes(made.size, "little", signed=value < 0), 0)
            self.assertEqual(sbe.line_of(event, schema), line)

    def test_every_form_has_the_same_events(self):
        for name, feed in self.feeds():
            with self.subTest(name):
                text = self.stopbit("replay", *feed, "--events")
                lines = lines_of(text)
                self.check_sbe(self.stopbit("replay", *feed, "--events", "--format", "sbe"), lines)
                self.check_csv(self.stopbit("replay", *feed, "--events", "--format", "csv"), lines)
                for form in ("jsonl", "sbe", "csv"):
                    self.assertEqual(self.stopbit("book", *feed, "--events", "--format", form),
                                     self.stopbit("replay", *feed, "--events", "--format", form))
                out = self.path(f"columns-{name}")
                self.stopbit("replay", *feed, "--events", "--columns", out, "--force")
                self.check_columns(out, lines)
                ring = self.path(f"ring-{name}")
                printed = self.stopbit("replay", *feed, "--events", "--ring", ring, "--format", "sbe")
                self.check_sbe(printed, lines)
                self.assertEqual(self.stopbit("tail", ring), text)
                self.assertEqual(self.stopbit("tail", ring, "--events", "--format", "sbe"), printed)
                self.assertEqual(self.stopbit("tail", ring, "--format", "sbe"), printed)
                instruments = lines_of(self.stopbit("instruments", ring))
                with open(f"{out}/index.json", encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["market"]["instruments"], instruments)

    def test_the_demo_has_every_kind_of_value(self):
        lines = lines_of(self.stopbit("replay", *self.demo(), "--events"))
        keys = {key for line in lines for key in line}
        self.assertLessEqual({"side", "level", "price", "quantity", "id", "statistic", "state", "code", "cause", "number",
                              "delay", "flags"}, keys)
        self.assertLessEqual({'A,"b"\\\n', "Caf\u00e9"}, {line["instrument"] for line in lines})

    def test_both_contents_go_to_two_rings(self):
        settings.write_files(self.folder, feed=settings.sample_feed(templates=f"{SAMPLE}/templates.xml", ring="md",
                                                                    more=f'map = "{SAMPLE}/map.toml"'))
        feed, ring = [f"{SAMPLE}/capture.pcap.gz", "--feed", self.path("feed.toml"), "-q"], self.path("both")
        self.stopbit("replay", *feed, "--records", "--events", "--ring", ring)
        self.assertEqual(self.stopbit("tail", ring, "--records"), self.stopbit("replay", *feed, "--records"))
        self.assertEqual(self.stopbit("tail", f"{ring}-events", "--events"), self.stopbit("replay", *feed, "--events"))

    def test_a_ring_of_the_other_content_is_an_error(self):
        feed, ring = self.sample(), self.path("both")
        self.stopbit("replay", *feed, "--records", "--events", "--ring", ring)
        for options, why in ((["--events"], b"the ring carries records"), (["--format", "sbe"], b"is for market events")):
            self.assertIn(why, self.stopbit("tail", ring, *options, status=2))
        self.assertIn(b"the ring carries market events", self.stopbit("tail", f"{ring}-events", "--records", status=2))
        self.assertIn(b"jsonl, csv or sbe", self.stopbit("tail", f"{ring}-events", "--format", "fix", status=2))

    def test_without_an_event_only_the_title_is_printed(self):
        feed = [*self.demo(), "--group", "239.9.9.9:9"]
        self.assertTrue(self.stopbit("replay", *feed, "--events", "--format", "csv").startswith(b"channel,sequence,"))
        self.assertEqual(self.stopbit("replay", *feed, "--events", "--format", "sbe"), b"")
        self.stopbit("replay", *feed, "--events", "--columns", self.path("none"))
        self.check_columns(self.path("none"), [])

    def test_a_full_disk_leaves_nothing_that_looks_complete(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        out = self.path("out")
        for _ in range(2):
            done = self.stopbit("replay", *self.sample(), "--events", "--columns", out, "--force", status=3,
                                preexec_fn=small_files)
            self.assertIn(b"cannot write " + out.encode(), done)
            with self.assertRaisesRegex(FileNotFoundError, "incomplete"):
                load_folder_module().open_folder(out)
        with open("/dev/full", "wb") as full:
            for form in ("sbe", "csv", "jsonl"):
                done = subprocess.run([STOPBIT, "replay", *self.sample(), "--events", "--format", form], stdout=full,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(b"No space left", done.stderr)

    def test_a_folder_is_replaced_only_by_force(self):
        out = self.path("out")
        self.stopbit("replay", *self.sample(), "--events", "--columns", out)
        before = sorted(os.listdir(out))
        self.assertIn(b"is not empty; --force", self.stopbit("replay", *self.sample(), "--events", "--columns", out, status=3))
        # A run that cannot begin replaces nothing: there is no such map, no folder for the ring.
        feed = [*self.sample()[:-2], "no-such-map", "-q", "--events", "--columns", out, "--force"]
        self.stopbit("replay", *feed, status=3)
        self.stopbit("replay", *self.sample(), "--events", "--columns", out, "--force", "--ring", self.path("no/ring"), status=3)
        self.assertEqual(sorted(os.listdir(out)), before)
        # Records and events replace each other's columns.
        feed = self.sample()
        self.stopbit("replay", *feed[:feed.index("--map")], "-q", "--columns", out, "--force")
        self.assertIn("@events", load_folder_module().open_folder(out))
        self.stopbit("replay", *feed, "--events", "--columns", out, "--force")
        self.assertEqual(set(load_folder_module().open_folder(out)), {"events", "instruments"})

    def test_columns_cannot_name_files_outside(self):
        out = self.path("out")
        self.stopbit("replay", *self.demo(), "--events", "--columns", out)
        with open(f"{out}/index.json", encoding="utf-8") as file:
            index = json.load(file)
        index["market"]["columns"]["price"] = "../secret.npy"
        pathlib.Path(f"{out}/index.json").write_text(json.dumps(index), encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "outside the folder"):
            load_folder_module().open_folder(out)

    def test_a_limit_is_reported(self):
        self.stopbit("replay", *self.sample(), "--events", "--limit", "100", "--columns", self.path("out"))
        with self.assertWarnsRegex(RuntimeWarning, "not whole"):
            load_folder_module().open_folder(self.path("out"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
