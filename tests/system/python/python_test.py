"""The Python module against `stopbit replay --format jsonl`: the bundled capture, one of every type, and those of real
exchanges if STOPBIT_CORPUS names their folder.

usage: python_test.py STOPBIT SOURCE_FOLDER SCRATCH_FOLDER [unittest's arguments]; the module is found by PYTHONPATH.
"""

import ast
import decimal
import gzip
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import warnings

import numpy

import stopbit

COMMAND, SOURCE, SCRATCH = sys.argv[1:4]
SAMPLE = f"{SOURCE}/tests/data/sample"
SAMPLE_FEED = {"templates": f"{SAMPLE}/templates.xml", "framing": "cme"}
SAMPLE_CAPTURE = f"{SAMPLE}/capture.pcap.gz"
CORPUS = {"cme-mdp-2012": "cme", "moex-asts-trades-2019": "moex", "eurex-rdi-2016": "t7", "complex30000": "none"}

REFERENCES = """
{"template":"Envelope","id":1,"fields":{"Seq":1,"templateRef":{"template":"Quote","id":2,"fields":{"Symbol":"A","Levels":[{"Qty":5},{"Qty":6}],"Flags":7}},"templateRef2":{"template":"Empty","id":3,"fields":{}},"Sum":9,"List":[{"templateRef":{"template":"Envelope","id":1,"fields":{"Seq":2,"templateRef":{"template":"Empty","id":3,"fields":{}},"templateRef2":{"template":"Empty","id":3,"fields":{}},"Sum":1,"List":[],"End":3}}}],"End":4}}
{"template":"Quote","id":2,"fields":{"Symbol":"B","Levels":[],"Flags":0}}
"""


def run(*command):
    return subprocess.run([COMMAND, *command], check=True, capture_output=True, text=True).stdout


def expected(captures, feed, *more):
    """The dicts that the JSON lines say."""
    captures = [captures] if isinstance(captures, str) else captures
    options = [text for option, value in feed.items() for text in (f"--{option}", value)]
    lines = subprocess.run(
        [COMMAND, "replay", *captures, *options, "-q", *more],
        check=False, capture_output=True, text=True).stdout
    return [json.loads(line, parse_float=decimal.Decimal) for line in lines.splitlines()]


def encoded(name, templates, text):
    """A capture with messages that are given as JSON lines."""
    capture = f"{SCRATCH}/{name}.pcap"
    lines = f"{SCRATCH}/{name}.jsonl"
    pathlib.Path(lines).write_text(text, encoding="utf-8")
    run("encode", lines, "--templates", templates, "-o", capture, "-q")
    return capture, {"templates": templates, "framing": "none"}


def feeds():
    """Name, capture and feed of everything that is tested."""
    emit = f"{SOURCE}/tests/unit/templates/emit"
    rich = pathlib.Path(f"{SOURCE}/tests/system/views/rich.jsonl").read_text(encoding="utf-8")
    yield "sample", SAMPLE_CAPTURE, SAMPLE_FEED
    yield ("rich", *encoded("rich", f"{emit}/rich.xml", rich))
    yield ("references", *encoded("references", f"{emit}/references.xml", REFERENCES))
    corpus = os.environ.get("STOPBIT_CORPUS")
    if not corpus:
        print("STOPBIT_CORPUS is not set: the captures of real exchanges are left out", file=sys.stderr)
        return
    for name, framing in CORPUS.items():
        yield name, f"{corpus}/{name}/capture.pcap", {"templates": f"{corpus}/{name}/templates.xml", "framing": framing}


FEEDS = []
SOME_FIELDS = {}  # of some of them again, by name: the feed that stores everything, and the Choice


class Choice:
    """Every third field of the records, and what is left of a record if only these are stored."""

    def __init__(self, records):
        self.leaves, self.references = set(), set()
        for record in records:
            self.look((record["template"],), record["fields"])
        self.leaves -= {path[:n] for path in self.leaves for n in range(len(path))}  # sequences that were empty once
        self.chosen = set(sorted(self.leaves)[::3])
        self.around = {path[:n] for path in self.chosen | self.references for n in range(len(path))}

    def look(self, path, value):
        if isinstance(value, dict) and "template" in value:
            self.references.add(path)  # always stored
            self.look((value["template"],), value["fields"])
        elif isinstance(value, dict):
            for key, item in value.items():
                self.look((*path, key), item)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for item in value:
                self.look(path, item)
        else:
            self.leaves.add(path)

    def names(self):
        return ["/".join(path) for path in sorted(self.chosen)]

    def left(self, record):
        return {**record, "fields": self.left_of((record["template"],), record["fields"])}

    def left_of(self, path, value):
        if isinstance(value, dict) and "template" in value:
            return self.left(value)
        if isinstance(value, dict):
            inside = {key: (*path, key) for key in value}
            return {key: self.left_of(at, value[key]) for key, at in inside.items()
                    if at in self.chosen | self.around | self.references}
        if isinstance(value, list) and path in self.around:
            return [self.left_of(path, item) for item in value]
        return value


def add_some_fields():
    """The feeds once more, with records that hold some fields only."""
    for name, capture, feed in list(FEEDS):
        choice = Choice(itertools.islice(expected(capture, feed, "--limit", "2000"), 2000))
        image = f"{SCRATCH}/{name}-some.sbf"
        pathlib.Path(f"{SCRATCH}/{name}-some.fields").write_text("\n".join(choice.names()), encoding="utf-8")
        run("compile", feed["templates"], "--fields", f"@{SCRATCH}/{name}-some.fields", "-o", image)
        FEEDS.append((f"some fields of {name}", capture, {"firmware": image, "framing": feed["framing"]}))
        SOME_FIELDS[FEEDS[-1][0]] = (feed, choice)


def plain(value):
    """A record as JSON has it: byte vectors as hex."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def same(expected_value, value):
    """Equal, and decimals with the same exponent. JSON has no decimals without a fraction."""
    if isinstance(value, dict):
        return (isinstance(expected_value, dict) and expected_value.keys() == value.keys()
                and all(same(expected_value[key], value[key]) for key in value))
    if isinstance(value, list):
        return (isinstance(expected_value, list) and len(expected_value) == len(value)
                and all(map(same, expected_value, value)))
    if isinstance(value, decimal.Decimal):
        return decimal.Decimal(expected_value).as_tuple() == value.as_tuple()
    return type(expected_value) is type(value) and expected_value == value


class Replay(unittest.TestCase):
    def test_a_feed_merges_the_lines_as_the_command_does(self):
        feed = f"{SCRATCH}/feed.toml"
        pathlib.Path(feed).write_text(f"""[[image]]
name = "sample"
templates = ["{SAMPLE}/templates.xml"]
[[channel]]
name = "both"
framing = "cme"
a = {{ group = "239.20.1.1", port = 20001 }}
b = {{ group = "239.20.2.1", port = 20002 }}
""", encoding="utf-8")
        records = list(stopbit.replay(SAMPLE_CAPTURE, feed=feed))
        self.assertEqual(records, expected(SAMPLE_CAPTURE, {"feed": feed}))
        one_line = len(list(stopbit.replay(SAMPLE_CAPTURE, groups="239.20.1.1:20001", **SAMPLE_FEED)))
        self.assertLess(len(records), 2 * one_line)  # each number once, not once a line
        tables = stopbit.columns(SAMPLE_CAPTURE, feed=feed, fields="MsgSeqNum")
        self.assertEqual(len(tables["Trade"]["MsgSeqNum"]), sum(r.get("template") == "Trade" for r in records))
        with self.assertRaisesRegex(ValueError, "feed sets"):
            stopbit.replay(SAMPLE_CAPTURE, feed=feed, framing="cme")
        with self.assertRaisesRegex(ValueError, "no channel of an image 'sampel'; did you mean 'sample'"):
            stopbit.replay(SAMPLE_CAPTURE, feed=feed, image="sampel")
        with self.assertRaises(FileNotFoundError):
            stopbit.replay(SAMPLE_CAPTURE, feed=f"{SCRATCH}/none.toml")
        pathlib.Path(feed).write_text("framing = cme\n", encoding="utf-8")
        with self.assertRaisesRegex(stopbit.InputError, "feed.toml:1"):
            stopbit.replay(SAMPLE_CAPTURE, feed=feed)

    def test_gives_what_json_lines_say(self):
        for name, capture, feed in FEEDS:
            with self.subTest(name):
                records = stopbit.replay(capture, **feed)
                count = 0
                for line, record in itertools.zip_longest(expected(capture, feed), records):
                    self.assertTrue(same(line, plain(record)), f"record {count}:\n{line}\n{record}")
                    count += 1
                self.assertGreater(count, 0)
                self.assertEqual(records.summary["messages"], count)
                self.assertEqual(records.summary["errors"], 0)

    def test_engines_agree(self):
        program = stopbit.Program.compile([SAMPLE_FEED["templates"]])
        try:
            native = stopbit.replay(SAMPLE_CAPTURE, firmware=program, framing="cme", engine="native")
        except stopbit.Error as error:
            self.assertIn("native", str(error))
            self.skipTest(str(error))
        interp = stopbit.replay(SAMPLE_CAPTURE, firmware=program, framing="cme", engine="interp")
        self.assertEqual(list(native), list(interp))
        self.assertEqual(interp.summary["engine"], "interp")
        self.assertEqual(native.summary["engine"], "native")

    def test_reads_several_captures_one_after_the_other(self):
        once = list(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED))
        twice = list(stopbit.replay([SAMPLE_CAPTURE, pathlib.Path(SAMPLE_CAPTURE)], **SAMPLE_FEED))
        self.assertEqual(once + once, twice)

    def test_decimals_may_be_floats(self):
        for exact, rounded in zip(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=2000),
                                  stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=2000, decimals="float")):
            self.assertEqual(floats(exact), rounded)

    def test_header_tells_time_and_sequence(self):
        records = list(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, groups="239.20.1.1:20001", limit=50, header=True))
        self.assertEqual(records[0]["header"].keys(),
                         {"arrival_ns", "sequence", "channel", "message_index", "sender_epoch", "flags"})
        for record in records:
            if record["header"]["message_index"] == 0:
                self.assertEqual(record["header"]["sequence"], record["fields"]["MsgSeqNum"])

    def test_faulty_datagrams_are_records(self):
        feed = {**SAMPLE_FEED, "framing": "none"}
        records = stopbit.replay(SAMPLE_CAPTURE, **feed)
        seen = list(records)
        self.assertEqual([plain(record) for record in seen], expected(SAMPLE_CAPTURE, feed))
        self.assertTrue(any("error" in record for record in seen))
        self.assertGreater(records.summary["errors"], 0)
        self.assertIn("packet", records.summary["problems"][0])

    def test_program_is_compiled_once_and_used_often(self):
        program = stopbit.Program.compile([SAMPLE_FEED["templates"]])
        self.assertIn((22, "Trade"), program.templates)
        self.assertEqual(program.warnings, "")
        image = f"{SCRATCH}/sample.sbf"
        pathlib.Path(image).write_bytes(program.image())
        self.assertEqual(stopbit.Program.load(image).layout_hash, program.layout_hash)
        self.assertEqual(stopbit.Program.from_image(program.image()).image(), program.image())
        by_program = list(stopbit.replay(SAMPLE_CAPTURE, firmware=program, framing="cme", limit=100))
        by_file = list(stopbit.replay(SAMPLE_CAPTURE, firmware=image, framing="cme", limit=100))
        self.assertEqual(by_program, by_file)

    def test_threads_replay_side_by_side(self):
        program = stopbit.Program.compile([SAMPLE_FEED["templates"]])
        counts = []

        def count():
            counts.append(sum(1 for _ in stopbit.replay(SAMPLE_CAPTURE, firmware=program, framing="cme")))

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [23921] * 4)

    def test_may_be_left_early(self):
        for _ in range(20):
            next(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED))
        with stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED) as records:
            next(records)
        self.assertEqual(list(records), [])
        records.close()
        self.assertIsNone(records.summary)

    def test_a_capture_that_breaks_off_raises_behind_its_last_record(self):
        whole = f"{SCRATCH}/whole.pcap"
        lines = [json.dumps(record, default=float) for record in stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=50)]
        pathlib.Path(f"{SCRATCH}/whole.jsonl").write_text("\n".join(lines), encoding="utf-8")
        run("encode", f"{SCRATCH}/whole.jsonl", "--templates", SAMPLE_FEED["templates"], "--framing", "cme", "-o", whole, "-q")
        broken = f"{SCRATCH}/broken.pcap"
        pathlib.Path(broken).write_bytes(pathlib.Path(whole).read_bytes()[:-3])
        records = stopbit.replay(broken, **SAMPLE_FEED)
        seen = []
        with self.assertRaisesRegex(stopbit.InputError, "broken.pcap"):
            for record in records:
                seen.append(record)
        self.assertEqual(len(seen), len(list(stopbit.replay(whole, **SAMPLE_FEED))) - 1)
        self.assertEqual(list(records), [])
        with self.assertRaisesRegex(stopbit.InputError, "broken.pcap"):
            stopbit.columns(broken, **SAMPLE_FEED)


class SomeFields(unittest.TestCase):
    def test_are_those_of_the_whole_records(self):
        for name, capture, feed in FEEDS:
            if name not in SOME_FIELDS:
                continue
            whole, choice = SOME_FIELDS[name]
            with self.subTest(name):
                self.assertGreater(len(choice.chosen), 0)
                records = stopbit.replay(capture, **feed, limit=3000)
                for line, record in itertools.zip_longest(expected(capture, whole, "--limit", "3000"), records):
                    self.assertTrue(same(choice.left(line), plain(record)), f"{line}\n{choice.left(line)}\n{record}")

    def test_are_named_as_on_the_command_line(self):
        for fields in ("Price,BookSnapshot/Symbol", ["Price", "BookSnapshot/Symbol"]):
            records = list(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, fields=fields))
            self.assertEqual(records, expected(SAMPLE_CAPTURE, SAMPLE_FEED, "--fields", "Price,BookSnapshot/Symbol"))
        tables = stopbit.columns(SAMPLE_CAPTURE, **SAMPLE_FEED, fields=["Price"])
        columns = {column for table in tables.values() for column in table if not column.startswith("@")}
        self.assertIn("Price", columns)
        self.assertNotIn("Symbol", columns)
        self.assertIn("Trade", tables)  # a row a message, whatever it holds
        program = stopbit.Program.compile([SAMPLE_FEED["templates"]], fields="Price")
        self.assertTrue(program.is_projected)
        self.assertTrue(stopbit.Program.from_image(program.image()).is_projected)
        self.assertFalse(stopbit.Program.compile([SAMPLE_FEED["templates"]]).is_projected)

    def test_a_length_alone_is_a_list_of_empty_dicts(self):
        whole = stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=3000)
        for record, all_of_it in zip(stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=3000, fields="NoEntries"), whole):
            entries = all_of_it["fields"].get("Entries")
            self.assertEqual(record["fields"], {} if entries is None else {"Entries": [{}] * len(entries)})
        tables = stopbit.columns(SAMPLE_CAPTURE, **SAMPLE_FEED, fields="NoEntries")
        self.assertEqual(set(tables["BookUpdate/Entries"]), {"@parent"})
        self.assertEqual(tables["BookUpdate"]["Entries"].sum(), len(tables["BookUpdate/Entries"]["@parent"]))

    def test_that_nothing_has_are_refused(self):
        with self.assertRaisesRegex(stopbit.InputError, "Prize"):
            stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, fields=["Prize"])
        for wrong in ({"fields": ""}, {"fields": []}, {"fields": "Price", "templates": None, "firmware": "a.sbf"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                stopbit.columns(SAMPLE_CAPTURE, **{**SAMPLE_FEED, **wrong})

    def test_come_out_of_rings(self):
        ring = f"{SCRATCH}/ring-some-fields"
        subprocess.run([COMMAND, "replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme",
                        "-q", "--fields", "Price,NoLegs", "--ring", ring], check=True)
        self.addCleanup(os.remove, ring)
        self.assertEqual(list(stopbit.ring(ring)), expected(SAMPLE_CAPTURE, SAMPLE_FEED, "--fields", "Price,NoLegs"))


def floats(value):
    if isinstance(value, dict):
        return {key: floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [floats(item) for item in value]
    return float(value) if isinstance(value, decimal.Decimal) else value


class TableReader:
    """Compares tables with records, row by row; every value has to be met."""

    def __init__(self, test, tables):
        self.test = test
        self.tables = {name: {key: array for key, array in table.items()} for name, table in tables.items()}
        self.rows = {name: 0 for name in tables}

    def message(self, number, record, is_reference=False):
        name = record["template"]
        table = self.tables[name]
        row = self.next_row(name)
        self.test.assertEqual(table["@record"][row], number)
        if "@reference" in table:
            self.test.assertEqual(table["@reference"][row], is_reference)
        self.level(name, row, record["fields"], number)
        return row

    def next_row(self, name):
        self.rows[name] += 1
        return self.rows[name] - 1

    def level(self, name, row, fields, number):
        table = self.tables[name]
        seen = set()
        self.fields(name, row, fields, "", number, seen)
        for column, array in table.items():
            if column.endswith(":present"):
                self.test.assertEqual(array[row], column[:-len(":present")] in seen, (name, column, row))
            elif not column.startswith("@") and ":" not in column:
                self.test.assertTrue(column in seen or not table[f"{column}:present"][row], (name, column, row))

    def fields(self, name, row, fields, prefix, number, seen):
        table = self.tables[name]
        for key, value in fields.items():
            column = prefix + key
            if isinstance(value, dict) and "template" in value:
                seen.add(column)
                self.test.assertEqual(table[f"{column}:template"][row], value["template"])
                self.test.assertEqual(table[column][row], self.message(number, value, True))
            elif isinstance(value, dict):
                if f"{column}:present" in table:
                    seen.add(column)
                self.fields(name, row, value, column + ".", number, seen)
            elif isinstance(value, list) and f"{name}/{column}" in self.tables:
                seen.add(column)
                self.test.assertEqual(table[column][row], len(value))
                for element in value:
                    inner = f"{name}/{column}"
                    inner_row = self.next_row(inner)
                    self.test.assertEqual(self.tables[inner]["@parent"][inner_row], row)
                    self.level(inner, inner_row, element if isinstance(element, dict) else {"value": element}, number)
            else:
                seen.add(column)
                self.value(table, column, row, value)

    def value(self, table, column, row, value):
        found = table[column][row]
        where = (column, row)
        if isinstance(value, decimal.Decimal):
            self.test.assertEqual(found, float(value), where)
            if f"{column}:mantissa" in table:
                sign, digits, exponent = value.as_tuple()
                mantissa = int("".join(map(str, digits))) * (-1 if sign else 1)
                self.test.assertEqual(int(table[f"{column}:mantissa"][row]), mantissa, where)
                self.test.assertEqual(int(table[f"{column}:exponent"][row]), exponent, where)
        elif isinstance(value, list):
            names = {key.split(":", 1)[1] for key in table if key.startswith(f"{column}:")} - {"present"}
            self.test.assertEqual({name for name in names if table[f"{column}:{name}"][row]}, set(value), where)
        elif isinstance(value, str) and isinstance(found, bytes):
            latin = found.decode("latin-1")
            self.test.assertTrue(latin == value or found.decode("utf-8", "replace") == value, (where, found, value))
        else:
            self.test.assertEqual(found, value, where)

    def finish(self):
        for name, table in self.tables.items():
            if name == "@events":
                continue
            for column, array in table.items():
                self.test.assertEqual(len(array), self.rows[name], (name, column))


class Columns(unittest.TestCase):
    def test_hold_every_value_of_every_record(self):
        for name, capture, feed in FEEDS:
            with self.subTest(name):
                limit = 5000 if name == "complex30000" else 0
                reader = TableReader(self, stopbit.columns(capture, **feed, limit=limit))
                for number, record in enumerate(stopbit.replay(capture, **feed, limit=limit)):
                    reader.message(number, record)
                reader.finish()
                self.assertEqual(len(reader.tables["@events"]["@record"]), 0)

    def test_of_a_folder_are_those_of_the_capture(self):
        for name, capture, feed in FEEDS:
            with self.subTest(name):
                limit = 5000 if name == "complex30000" else 0
                folder = f"{SCRATCH}/columns of {name}"
                subprocess.run(
                    [COMMAND, "replay", capture, *(text for key, value in feed.items() for text in (f"--{key}", value)),
                     "--columns", folder, "--force", "-q", *(["--limit", str(limit)] if limit else [])], check=True)
                made = stopbit.columns(capture, **feed, limit=limit)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of the limit
                    read = stopbit.columns(folder)
                self.assertEqual(set(read), set(made))
                self.assertEqual(set(made["@events"]) - set(read["@events"]), {"field"})
                for table in made.keys() - {"@events"}:
                    self.assertEqual(set(read[table]), set(made[table]), table)
                    for key, array in made[table].items():
                        self.assertIn(key, read[table])
                        self.assertEqual(read[table][key].dtype, array.dtype, (table, key))
                        numpy.testing.assert_array_equal(read[table][key], array, (table, key))

    def test_of_a_folder_take_no_other_argument(self):
        folder = f"{SCRATCH}/columns alone"
        run("replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme", "--columns", folder,
            "--force", "-q")
        for wrong in ({"templates": SAMPLE_FEED["templates"]}, {"framing": "none"}, {"limit": 1}):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "is a folder of columns"):
                stopbit.columns(folder, **wrong)

    def test_are_arrays_of_plain_types(self):
        tables = stopbit.columns(SAMPLE_CAPTURE, **SAMPLE_FEED)
        trades = tables["Trade"]
        self.assertIsInstance(trades["MsgSeqNum"], numpy.ndarray)
        self.assertEqual(trades["MsgSeqNum"].dtype, numpy.uint32)
        self.assertEqual(trades["@arrival_ns"].dtype, numpy.uint64)
        self.assertTrue((numpy.diff(trades["@record"].astype("i8")) > 0).all())
        kinds = {array.dtype.kind for table in tables.values() for array in table.values()}
        self.assertLessEqual(kinds, set("uifbSO"))

    def test_outlive_everything_else(self):
        arrays = [stopbit.columns(SAMPLE_CAPTURE, **SAMPLE_FEED)["Trade"]["MsgSeqNum"] for _ in range(3)]
        self.assertTrue((arrays[0] == arrays[2]).all())
        arrays[0][:] = 0
        self.assertTrue(arrays[2].all())

    def test_events_are_a_table(self):
        feed = {**SAMPLE_FEED, "framing": "none"}
        events = stopbit.columns(SAMPLE_CAPTURE, **feed)["@events"]
        lines = [(number, line) for number, line in enumerate(expected(SAMPLE_CAPTURE, feed)) if "fields" not in line]
        self.assertEqual(len(lines), len(events["@record"]))
        for row, (number, line) in enumerate(lines):
            self.assertEqual(events["@record"][row], number)
            self.assertEqual(events["kind"][row], "error" if "error" in line else line["event"])
            for column, key in {"code": "error", "template": "template", "field": "field"}.items():
                self.assertEqual(events[column][row], line.get(key), column)
            self.assertEqual((events["packet"][row], events["offset"][row]), (line["packet"], line["offset"]))


class Arguments(unittest.TestCase):
    def test_that_make_no_sense_are_value_errors(self):
        for wrong in ({"framing": "cmee"}, {"framing": None}, {"reset": "sometimes"}, {"engine": "steam"}, {"groups": ["here"]},
                      {"templates": None}, {"firmware": "a.sbf"}):
            for function in (stopbit.replay, stopbit.columns):
                with self.subTest(wrong), self.assertRaises(ValueError):
                    function(SAMPLE_CAPTURE, **{**SAMPLE_FEED, **wrong})
        for wrong in ({"pace": "quick"}, {"decimals": "roman"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, **wrong)
        with self.assertRaises(ValueError):
            stopbit.replay([], **SAMPLE_FEED)
        with self.assertRaises(ValueError):
            stopbit.replay(SAMPLE_CAPTURE, templates=[])
        with self.assertRaises(TypeError):
            stopbit.replay(SAMPLE_CAPTURE, **SAMPLE_FEED, limit=-1)
        with self.assertRaises(TypeError):
            stopbit.replay(7, **SAMPLE_FEED)

    def test_files_that_cannot_be_read_are_os_errors(self):
        with self.assertRaises(FileNotFoundError) as caught:
            stopbit.replay("/nowhere/day.pcap", **SAMPLE_FEED)
        self.assertEqual(caught.exception.filename, "/nowhere/day.pcap")
        with self.assertRaises(FileNotFoundError):
            stopbit.columns(SAMPLE_CAPTURE, templates="/nowhere/feed.xml", framing="cme")
        with self.assertRaises(FileNotFoundError):
            stopbit.replay(SAMPLE_CAPTURE, firmware="/nowhere/feed.sbf", framing="cme")
        with self.assertRaises(IsADirectoryError):
            stopbit.replay(SAMPLE, **SAMPLE_FEED)

    def test_input_that_is_refused_says_where(self):
        wrong = f"{SCRATCH}/wrong.xml"
        pathlib.Path(wrong).write_text(
            "<templates>\n<template name='A' id='1'><uInt32 name='B'><tail/></uInt32></template>\n</templates>\n",
            encoding="utf-8")
        with self.assertRaisesRegex(stopbit.InputError, r"wrong\.xml:2:\d+: error: .*\[S2\]"):
            stopbit.replay(SAMPLE_CAPTURE, templates=wrong, framing="cme")
        with self.assertRaisesRegex(stopbit.InputError, "wrong.xml"):
            stopbit.replay(wrong, **SAMPLE_FEED)
        with self.assertRaisesRegex(stopbit.InputError, "firmware"):
            stopbit.replay(SAMPLE_CAPTURE, firmware=wrong, framing="cme")
        self.assertTrue(issubclass(stopbit.InputError, stopbit.Error))


class Ring(unittest.TestCase):
    def setUp(self):
        self.name = f"{SCRATCH}/ring-{self.id()}"
        self.command = [COMMAND, "replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme",
                        "-q", "--ring", self.name]

    def tearDown(self):
        pathlib.Path(self.name).unlink(missing_ok=True)

    def start_writer(self, *more):
        writer = subprocess.Popen([*self.command, *more], stderr=subprocess.DEVNULL)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        while not os.path.exists(self.name):
            time.sleep(0.001)
        return writer

    def test_gives_what_json_lines_say(self):
        subprocess.run(self.command, check=True)
        lines = expected(SAMPLE_CAPTURE, SAMPLE_FEED)
        self.assertEqual(list(stopbit.ring(self.name)), lines)
        self.assertEqual(list(stopbit.ring(self.name, start="newest")), [])
        reader = stopbit.ring(self.name)
        self.assertEqual(reader.poll(), lines[0])
        self.assertEqual(reader.batch(5), lines[1:6])
        self.assertEqual(reader.batch(10**9), lines[6:])
        self.assertIsNone(reader.poll())
        self.assertEqual(reader.batch(), [])
        self.assertEqual((reader.lost, reader.writer), (0, "finished"))

    def test_is_read_while_it_is_written(self):
        self.start_writer("--pace", "20x")
        self.assertEqual(list(stopbit.ring(self.name)), expected(SAMPLE_CAPTURE, SAMPLE_FEED))

    def test_tells_what_was_lost(self):
        writer = self.start_writer("--ring-slots", "32768", "--pace", "20x")
        reader = stopbit.ring(self.name)
        self.assertIn("template", next(reader))
        writer.wait()
        seen = 1
        for record in reader:
            seen += 1 if "template" in record else 0
            if record.get("event") == "lost":
                self.assertEqual(record["records"], reader.lost)
        self.assertGreater(reader.lost, 0)
        self.assertEqual(seen + reader.lost, 23921)

    def test_a_writer_that_dies_is_an_error(self):
        writer = self.start_writer("--pace", "1x")
        reader = stopbit.ring(self.name)
        next(reader)
        writer.kill()
        with self.assertRaisesRegex(stopbit.RingError, "writer died"):
            list(reader)

    def test_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(stopbit.RingError, "nowhere"):
            stopbit.ring("./nowhere")
        with self.assertRaises(stopbit.RingError):
            stopbit.ring(SAMPLE_CAPTURE)
        with self.assertRaises(ValueError):
            stopbit.ring("bad name")
        with self.assertRaises(ValueError):
            stopbit.ring(self.name, start="yesterday")
        with self.assertRaises(ValueError):
            stopbit.ring(self.name, lossless=True, timeout=float("nan"))
        with self.assertRaisesRegex(ValueError, "no user"):
            stopbit.ring(self.name, user="no such user")

    def test_that_becomes_shorter_is_an_error(self):
        subprocess.run(self.command, check=True)
        reader = stopbit.ring(self.name)
        self.assertEqual(reader.poll(), expected(SAMPLE_CAPTURE, SAMPLE_FEED)[0])
        os.truncate(self.name, 4096)
        with self.assertRaisesRegex(stopbit.RingError, "was truncated"):
            reader.batch(10**9)
        self.assertEqual(reader.writer, "dead")

    @unittest.skipIf(os.geteuid() != 0, "files are given away by root alone")
    def test_of_a_stranger_is_an_error_unless_named(self):
        subprocess.run(self.command, check=True)
        os.chown(self.name, 54321, 54321)
        with self.assertRaisesRegex(stopbit.RingError, "belongs to .*uid 54321"):
            stopbit.ring(self.name)
        self.assertEqual(list(stopbit.ring(self.name, user="54321")), expected(SAMPLE_CAPTURE, SAMPLE_FEED))

    def test_that_is_lossless_waits_for_its_reader(self):
        writer = self.start_writer("--ring-slots", "32768", "--lossless", "1")
        lines = expected(SAMPLE_CAPTURE, SAMPLE_FEED)
        reader = stopbit.ring(self.name)
        watch = stopbit.ring(self.name, lossless=False)
        self.assertEqual([next(reader) for _ in range(1000)], lines[:1000])
        looks = 0  # in a row that saw no new record: the ring is full
        while looks < 50:
            looks = 0 if watch.batch(10**9) else looks + 1
            time.sleep(0.001)
        self.assertIsNone(writer.poll())
        self.assertEqual(list(reader), lines[1000:])
        self.assertEqual(reader.lost, 0)
        self.assertEqual(writer.wait(), 0)
        self.assertEqual(list(stopbit.ring(self.name, start="newest", lossless=False)), [])

    def test_that_waits_for_nobody_has_no_seat(self):
        subprocess.run(self.command, check=True)
        with self.assertRaisesRegex(stopbit.RingError, "does not wait for readers"):
            stopbit.ring(self.name, lossless=True)


class Market(unittest.TestCase):
    """Rings of market events, and the tables beside them, against `stopbit tail`, `instruments` and `states`."""

    def setUp(self):
        self.name = f"{SCRATCH}/market"
        self.addCleanup(lambda: [os.remove(each) for each in pathlib.Path(SCRATCH).glob("market*")])
        self.replay()

    def replay(self):
        run("replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme", "--map",
            f"{SAMPLE}/map.toml", "--events", "--ring", self.name, "-q")

    def lines(self, *command):
        return [json.loads(line, parse_float=decimal.Decimal) for line in run(*command).splitlines()]

    def test_gives_what_json_lines_say(self):
        events = self.lines("tail", self.name)
        self.assertGreater(len(events), 10_000)
        self.assertEqual(list(stopbit.ring(self.name)), events)
        prices = [event["price"] for event in stopbit.ring(self.name, decimals="float") if "price" in event]
        self.assertEqual(prices, [float(event["price"]) for event in events if "price" in event])
        reader = stopbit.ring(self.name, header=True)
        header = reader.poll()["header"]
        self.assertEqual((header["arrival_ns"], header["sequence"]), (events[0]["time"], events[0]["sequence"]))
        self.assertNotIn("message_index", header)

    def test_gives_columns(self):
        events = self.lines("tail", self.name)
        reader = stopbit.ring(self.name)
        keys = {row["row"]: row["instrument"] for row in reader.instruments()}
        self.assertEqual(reader.poll(), events[0])
        parts = [reader.batch_columns(1000), reader.batch_columns(10**9), reader.batch_columns()]
        self.assertEqual([len(part["kind"]) for part in parts], [1000, len(events) - 1001, 0])
        table = {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}
        kinds = {number: name for name, number in stopbit.MARKET["kind"].items()}
        self.assertEqual([kinds[number] for number in table["kind"]], [event["event"] for event in events[1:]])
        self.assertEqual([keys.get(row, row) for row in table["instrument"]], [event["instrument"] for event in events[1:]])
        for name, column in (("time", "arrival_ns"), ("sequence", "sequence"), ("channel", "channel")):
            self.assertEqual(table[column].tolist(), [event[name] for event in events[1:]])
        prices = [event.get("price") for event in events[1:]]
        self.assertEqual(table["price"].tolist(), [-2**63 if price is None else int(price * 10**9) for price in prices])
        quantities = [event.get("quantity", -2**39) for event in events[1:]]
        self.assertEqual(table["quantity"].tolist(), quantities)
        last = table["flags"] & stopbit.MARKET["flag"]["last_of_event"] != 0
        self.assertEqual(last.tolist(), ["last_of_event" in event.get("flags", ()) for event in events[1:]])
        self.assertEqual(table["is_implied"].dtype, bool)

    def test_columns_in_a_folder_are_those_of_the_ring(self):
        folder = f"{SCRATCH}/market-columns"
        run("replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme", "--map",
            f"{SAMPLE}/map.toml", "--events", "--columns", folder, "--force", "-q")
        self.addCleanup(shutil.rmtree, folder)
        reader = stopbit.ring(self.name)
        wanted = reader.batch_columns(10**9)
        tables = stopbit.columns(folder)
        self.assertEqual(set(tables["events"]), set(wanted))
        for name, array in wanted.items():
            self.assertEqual(tables["events"][name].dtype, array.dtype, name)
            self.assertTrue(numpy.array_equal(tables["events"][name], array), name)
        self.assertIsInstance(tables["events"]["price"], numpy.memmap)
        instruments = reader.instruments()
        self.assertEqual(tables["instruments"]["key"].tolist(), [None, *(row["instrument"] for row in instruments)])
        self.assertEqual([tick and decimal.Decimal(tick) for tick in tables["instruments"]["tick"]],
                         [None, *(row.get("tick") for row in instruments)])
        keys = tables["instruments"]["key"][tables["events"]["instrument"]]
        self.assertEqual([key or 0 for key in keys], [event["instrument"] for event in self.lines("tail", self.name)])
        with self.assertRaises(ValueError):
            tables["events"]["price"][0] = 1

    def test_a_copy_that_shares_the_tables_has_them(self):
        """As the publisher of a near ring makes it: host/ring/ring.md."""
        near = pathlib.Path(f"{self.name}-near")
        ring = bytearray(pathlib.Path(self.name).read_bytes())
        ring[88:96], ring[64:72] = ring[64:72], (1).to_bytes(8, "little")
        near.write_bytes(ring)
        for part in (".instruments", ".state"):
            os.link(self.name + part, f"{near}{part}")
        copy, whole = stopbit.ring(str(near)), stopbit.ring(self.name)
        self.assertEqual((list(copy.states()), copy.instruments()), (list(whole.states()), whole.instruments()))
        self.assertEqual(list(copy), list(whole))
        near.unlink()
        ring[88:96] = (2).to_bytes(8, "little")
        near.write_bytes(ring)
        with self.assertRaisesRegex(stopbit.RingError, "belong to another ring"):
            list(stopbit.ring(str(near)).states())

    def test_has_instruments_and_states(self):
        reader = stopbit.ring(self.name)
        instruments = self.lines("instruments", self.name)
        for row in instruments:
            if "tick" in row:
                row["tick"] = decimal.Decimal(row["tick"])
        self.assertEqual((reader.instruments(), len(instruments)), (instruments, 20))
        states = self.lines("states", self.name, "--format", "jsonl")
        for state in states:
            for name in ("bid", "ask", "last", "high", "low"):
                if name in state:
                    state[name] = decimal.Decimal(state[name])
            for name in ("bid_quantity", "ask_quantity", "last_quantity", "volume"):
                if name in state:
                    state[name] = int(state[name])
        self.assertEqual(reader.states(), states)
        for state, row in zip(states, reader.instruments()):
            self.assertEqual((reader.state(row["instrument"]), reader.instrument(row["instrument"])), (state, row))
        self.assertEqual(reader.instrument("Cedar Roofs"), reader.instrument("CEDAR"))
        self.assertEqual((reader.instrument("NONE"), reader.state("NONE")), (None, None))
        self.assertEqual(reader.writer, "finished")
        self.assertGreater(reader.heartbeat_ns, 10**18)

    def test_keeps_its_tables_when_a_later_ring_has_the_name(self):
        before = stopbit.ring(self.name)
        events, states = self.lines("tail", self.name), before.states()
        tables = {part: pathlib.Path(f"{self.name}.{part}").read_bytes() for part in ("instruments", "state")}
        self.replay()
        self.assertEqual(before.states(), states)
        self.assertEqual(before.poll(), events[0])
        # Tables of another writer are not taken for those of the ring.
        for part, content in tables.items():
            os.remove(f"{self.name}.{part}")
            pathlib.Path(f"{self.name}.{part}").write_bytes(content)
        other = stopbit.ring(self.name)
        with self.assertRaisesRegex(stopbit.RingError, "another ring"):
            other.states()
        self.assertEqual({type(event["instrument"]) for event in other}, {int})

    def test_a_table_that_becomes_shorter_is_an_error(self):
        for part in ("state", "instruments"):
            reader = stopbit.ring(self.name)
            self.assertEqual(len(reader.states()), 20)
            os.truncate(f"{self.name}.{part}", 0)
            with self.assertRaisesRegex(stopbit.RingError, "truncated"):
                reader.states()
            with self.assertRaises(stopbit.RingError):
                stopbit.ring(self.name).states()
            os.remove(f"{self.name}.{part}")
            self.replay()

    def test_of_records_has_no_tables(self):
        name = f"{SCRATCH}/market-of-records"
        run("replay", SAMPLE_CAPTURE, "--templates", SAMPLE_FEED["templates"], "--framing", "cme", "-q", "--ring", name)
        reader = stopbit.ring(name)
        for table in (reader.instruments, reader.states):
            with self.assertRaisesRegex(stopbit.RingError, "instrument table"):
                table()
        self.assertEqual(len(reader.batch_columns()["kind"]), 0)


class OpenedMarket(unittest.TestCase):
    """stopbit.open against `stopbit replay --events`, `instruments` and `book`."""

    FEED = f"{SOURCE}/host/appliance/example/feed.toml"
    MAP = f"{SAMPLE}/map.toml"

    def open(self, **more):
        return stopbit.open(SAMPLE_CAPTURE, map=self.MAP, **(more or {"feed": self.FEED}))

    def lines(self, command, *more):
        text = run(command, SAMPLE_CAPTURE, "--feed", self.FEED, "--map", self.MAP, "-q", *more)
        return [json.loads(line, parse_float=decimal.Decimal) for line in text.splitlines()]

    @staticmethod
    def exact(rows):
        return [row and [decimal.Decimal(row[0]), *row[1:]] for row in rows]

    def test_gives_events_as_rows(self):
        market = self.open()
        events, wanted = market.events(), self.lines("replay", "--events")
        self.assertEqual(len(events), len(wanted))
        self.assertEqual(events["time"].dtype, numpy.dtype("datetime64[ns]"))
        self.assertEqual(events["time"].astype("int64").tolist(), [event["time"] for event in wanted])
        self.assertEqual(events["price"].dtype, numpy.int64)
        self.assertEqual([market.price(price) for price in events["price"]], [event.get("price") for event in wanted])
        self.assertEqual([market.quantity(one) for one in events["quantity"]], [event.get("quantity") for event in wanted])
        keys = {row["row"]: row["instrument"] for row in market.instruments}
        named = [keys.get(row, row) for row in events["instrument"].tolist()]
        self.assertEqual(named, [event["instrument"] for event in wanted])

    def test_has_the_instruments_of_the_command(self):
        wanted = self.lines("instruments")
        for row in wanted:
            if "tick" in row:
                row["tick"] = decimal.Decimal(row["tick"])
        market = self.open()
        self.assertEqual((market.instruments, len(wanted)), (wanted, 20))
        for row in wanted:
            self.assertEqual(market.instrument(row["instrument"]), row)
        self.assertEqual(market.instrument("Cedar Roofs")["instrument"], "CEDAR")
        self.assertIsNone(market.instrument("NONE"))

    def test_has_the_books_of_the_command(self):
        market = self.open()
        for at, text in ((None, None), (1000, "1000"), ((0, 5000), "0:5000"), ("2027-01-04T09:00:20.5", "09:00:20.5"),
                         (numpy.datetime64("2027-01-04T09:00:54"), "09:00:54")):
            for key in ("CEDAR", "PULP:H7M7"):
                with self.subTest(at=text, instrument=key):
                    more = [] if text is None else ["--at", text]
                    wanted = self.lines("book", "--instrument", key, "--levels", "5", "--format", "jsonl", *more)[-1]
                    book = market.book(key, at=at, levels=5, decimals=True)
                    self.assertEqual((book["instrument"], book["is_known"]), (key, wanted["state"] == "known"))
                    self.assertIn(book["book"], ("latest", "suspect", "stale"))
                    for side in ("bids", "asks"):
                        rows = [row and list(row) for row in book[side]]
                        self.assertEqual(rows + [None] * (5 - len(rows)), self.exact(wanted[side]))
                    rows = market.book(key, at=at, levels=5)["bids"]
                    self.assertEqual(rows["price"].dtype, numpy.int64)
                    self.assertEqual([market.price(row["price"]) for row in rows if row["is_known"]],
                                     [row[0] for row in self.exact(wanted["bids"]) if row])
        self.assertEqual(market.book("Cedar Roofs")["instrument"], "CEDAR")

    def test_makes_a_channel_of_each_group_without_a_feed(self):
        alone = {"templates": SAMPLE_FEED["templates"], "framing": "cme"}
        market = self.open(**alone)
        self.assertEqual(set(market.events()["channel"].tolist()), {0, 1})
        with self.assertRaisesRegex(ValueError, "several channels"):
            market.book("CEDAR", at=5000)
        with self.assertRaisesRegex(ValueError, "no channel 2"):
            market.book("CEDAR", at=(2, 5000))
        self.assertTrue(market.book("CEDAR", at=(1, 5000))["bids"]["is_known"][0])

    def test_refuses_what_is_not_there(self):
        market = self.open()
        for at, text in ((10**9, "after the end"), ("2027-01-04T10:00:00", "after the end"),
                         ("2020-01-01", "before the first")):
            with self.assertRaisesRegex(ValueError, text):
                market.book("CEDAR", at=at)
        with self.assertRaisesRegex(ValueError, "no instrument 'CEDER'.*did you mean 'CEDAR'"):
            market.book("CEDER")
        for more in ({"levels": 0}, {"levels": 1001}, {"at": -1}):
            with self.assertRaises(ValueError):
                market.book("CEDAR", **more)
        with self.assertRaisesRegex(ValueError, "did you mean 'cme-mdp2'"):
            stopbit.open(SAMPLE_CAPTURE, map="cme-mdp", feed=self.FEED)
        with self.assertRaisesRegex(stopbit.InputError, "cme-mdp2.toml:[0-9]+:[0-9]+: error"):
            stopbit.open(SAMPLE_CAPTURE, map="cme-mdp2", feed=self.FEED)
        with self.assertRaises(FileNotFoundError):
            stopbit.open(SAMPLE_CAPTURE, map="./none.toml", feed=self.FEED)
        with self.assertRaisesRegex(ValueError, "instruments"):
            stopbit.open(SAMPLE_CAPTURE, map=self.MAP, feed=self.FEED, instruments=0)
        with self.assertRaisesRegex(ValueError, "pipe"):
            stopbit.open("-", map=self.MAP, templates=SAMPLE_FEED["templates"], framing="cme")

    @unittest.skipUnless(os.environ.get("STOPBIT_CORPUS"), "STOPBIT_CORPUS is not set")
    def test_has_the_books_of_a_real_capture(self):
        folder = pathlib.Path(os.environ["STOPBIT_CORPUS"]) / "cme-mdp-2012"
        market = stopbit.open(folder / "capture.pcap", map="cme-mdp2", depth=10, templates=folder / "templates.xml",
                              framing="cme")
        with gzip.open(folder / "books.jsonl.gz", "rt") as lines:
            books = [json.loads(line, parse_float=decimal.Decimal) for line in lines]
        for wanted in (books[0], books[3999], books[-1]):
            book = market.book(wanted["instrument"], at=wanted["seq"], decimals=True)
            rows = [row and list(row) for row in book["bids"]]
            self.assertEqual(rows + [None] * (len(wanted["bids"]) - len(rows)), self.exact(wanted["bids"]))


class Close(unittest.TestCase):
    """Replay.close() at any time, and other calls of an object that is in use, in an interpreter that may crash."""

    def check(self, text):
        script = textwrap.dedent("""
            import ctypes, gc, os, signal, subprocess, sys, threading, time
            import stopbit
            capture, templates, command, scratch = sys.argv[1:]
            def slow():
                return stopbit.replay(capture, templates=templates, framing="cme", pace="0.0001x")
            """) + textwrap.dedent(text) + "print('the end')\n"
        done = subprocess.run([sys.executable, "-c", script, SAMPLE_CAPTURE, SAMPLE_FEED["templates"], COMMAND, SCRATCH],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "the end\n"), done.stderr)

    def test_in_a_signal_handler(self):
        self.check("""
            replay = slow()
            next(replay)
            signal.signal(signal.SIGALRM, lambda *_: replay.close())
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            assert len(list(replay)) < 1000
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert list(replay) == [] and replay.summary is None
            replay.close()
            """)

    def test_in_another_thread(self):
        self.check("""
            for wait in range(20):
                replay = slow()
                next(replay)
                closer = threading.Timer(wait / 1000, replay.close)
                closer.start()
                assert len(list(replay)) < 1000
                closer.join()
                assert list(replay) == []
            """)

    def test_in_many_threads(self):
        self.check("""
            for _ in range(20):
                replay = slow()
                closers = [threading.Thread(target=replay.close) for _ in range(8)]
                for closer in closers:
                    closer.start()
                assert len(list(replay)) < 1000
                for closer in closers:
                    closer.join()
            """)

    def test_in_a_finalizer_while_a_record_is_made(self):
        self.check("""
            class Trap:
                def __init__(self):
                    self.itself = self
                def __del__(self):
                    replay.close()
            replay = stopbit.replay(capture, templates=templates, framing="cme")
            next(replay)
            Trap()
            gc.set_threshold(1)
            taken = sum(1 for _ in replay)
            assert taken < 23920, taken
            """)

    def silent_pipe(self):
        """Lines of a script: a pipe through which the beginning of a capture has come, and how many records that has."""
        return """
            import gzip
            begin = gzip.open(capture).read()[:20000]
            with open(scratch + "/begin.pcap", "wb") as file:
                file.write(begin)
            count = 0
            try:
                for _ in stopbit.replay(scratch + "/begin.pcap", templates=templates, framing="cme"):
                    count += 1
            except stopbit.InputError:
                pass
            assert count > 10
            def silent():
                reading, writing = os.pipe()
                os.write(writing, begin)
                return f"/dev/fd/{reading}"
            """

    def test_while_a_pipe_is_silent(self):
        self.check(self.silent_pipe() + """
            replay = stopbit.replay(silent(), templates=templates, framing="cme")
            next(replay)
            replay.close()
            replay = stopbit.replay(silent(), templates=templates, framing="cme")
            next(replay)
            closer = threading.Timer(0.01, replay.close)
            closer.start()
            for _ in replay:
                pass
            closer.join()
            """)

    def test_an_interrupt_while_a_pipe_is_silent(self):
        self.check(self.silent_pipe() + """
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            try:
                stopbit.columns(silent(), templates=templates, framing="cme")
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError("not interrupted")
            """)

    def test_other_threads_run_while_a_pipe_is_opened(self):
        self.check(self.silent_pipe() + """
            fifo = scratch + f"/fifo-{os.getpid()}"
            os.mkfifo(fifo)
            def write():
                with open(fifo, "wb") as file:
                    file.write(gzip.open(capture).read())
            writer = threading.Timer(0.01, write)
            writer.start()
            assert len(list(stopbit.replay(fifo, templates=templates, framing="cme"))) > count
            writer.join()
            os.remove(fifo)
            """)

    def test_others_are_refused_meanwhile(self):
        self.check("""
            replay = slow()
            next(replay)
            def refused():
                try:
                    next(replay)
                except ValueError as error:
                    assert "in use" in str(error), error
                    return True
                except StopIteration:
                    pass
                return False
            seen = []
            def interrupt(*_):
                seen.append(refused())
                if len(seen) > 3:
                    replay.close()
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            list(replay)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert any(seen), seen
            """)

    def test_a_ring_in_use(self):
        self.check("""
            name = scratch + "/ring-in-use"
            writer = subprocess.Popen([command, "replay", capture, "--templates", templates, "--framing", "cme", "-q",
                                       "--ring", name, "--pace", "0.0001x"])
            try:
                while not os.path.exists(name):
                    time.sleep(0.001)
                ring = stopbit.ring(name)
                next(ring)
                ring.batch()
                refused = []
                def interrupt(*_):
                    assert ring.writer == "running" and ring.lost == 0
                    for call in (ring.poll, ring.batch, ring.__next__):
                        try:
                            call()
                        except ValueError as error:
                            refused.append(str(error))
                    if len(refused) >= 3:
                        raise EOFError
                signal.signal(signal.SIGALRM, interrupt)
                signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
                try:
                    list(ring)
                except EOFError:
                    pass
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert refused and all("in use" in text for text in refused), refused
                ring.poll()
            finally:
                writer.kill()
                writer.wait()
                os.remove(name)
            """)

    def test_the_interpreter_ends_under_a_thread_that_waits(self):
        self.check("""
            replay = slow()
            next(replay)
            threading.Thread(target=list, args=(replay,), daemon=True).start()
            def all_columns():
                while True:
                    stopbit.columns([capture] * 20, templates=templates, framing="cme")
            threading.Thread(target=all_columns, daemon=True).start()
            time.sleep(0.05)
            """)

    def test_a_child_of_fork_lets_go(self):
        self.check("""
            replay = slow()
            next(replay)
            child = os.fork()
            if child == 0:
                replay.close()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            next(replay)
            """)

    def test_what_was_given_stays(self):
        self.check("""
            replay = stopbit.replay(capture, templates=templates, framing="cme")
            records = [next(replay) for _ in range(100)]
            text = repr(records)
            replay.close()
            del replay
            tables = stopbit.columns(capture, templates=templates, framing="cme")
            arrays = [array for table in tables.values() for array in table.values()]
            sums = [repr(array[:50].tolist()) for array in arrays]
            del tables
            gc.collect()
            other = stopbit.columns(capture, templates=templates, framing="cme")
            assert [repr(array[:50].tolist()) for array in arrays] == sums
            assert repr(records) == text
            """)


class Interrupts(unittest.TestCase):
    """Ctrl-C ends what waits or works, with KeyboardInterrupt."""

    @staticmethod
    def wait_until_inside(pid):
        """Until the process has slept at ten looks in a row, or used 0.1 s of a processor: it waits, or works."""
        def look():
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return fields[0], int(fields[11]) / os.sysconf("SC_CLK_TCK")

        begin, asleep = look()[1], 0
        while asleep < 10:
            state, used = look()
            if used - begin > 0.1:
                return
            asleep = asleep + 1 if state == "S" else 0
            time.sleep(0.005)

    def interrupt(self, text):
        script = "import stopbit\nprint('ready', flush=True)\n" + textwrap.dedent(text)
        python = subprocess.Popen([sys.executable, "-c", script, SAMPLE_CAPTURE, SAMPLE_FEED["templates"], COMMAND, SCRATCH],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(python.kill)
        self.assertEqual(python.stdout.readline(), "ready\n")
        self.assertEqual(python.stdout.readline(), "working\n")
        self.wait_until_inside(python.pid)
        python.send_signal(signal.SIGINT)
        _, errors = python.communicate(timeout=60)
        self.assertEqual(python.returncode, -signal.SIGINT, errors)
        self.assertIn("KeyboardInterrupt", errors)

    def test_a_replay_that_waits(self):
        self.interrupt("""
            import sys
            for record in stopbit.replay(sys.argv[1], templates=sys.argv[2], framing="cme", pace="0.001x"):
                print("working", flush=True)
            """)

    def test_columns_at_work(self):
        self.interrupt("""
            import sys
            print("working", flush=True)
            while True:
                stopbit.columns([sys.argv[1]] * 200, templates=sys.argv[2], framing="cme")
            """)

    def test_a_ring_without_records(self):
        self.interrupt("""
            import os, subprocess, sys, time
            ring = sys.argv[4] + "/interrupted"
            writer = subprocess.Popen([sys.argv[3], "replay", sys.argv[1], "--templates", sys.argv[2], "--framing", "cme",
                                       "--ring", ring, "--pace", "0.001x", "-q"], start_new_session=True)
            try:
                while not os.path.exists(ring):
                    time.sleep(0.001)
                for record in stopbit.ring(ring):
                    print("working", flush=True)
            finally:
                writer.kill()
                os.remove(ring)
            """)


class Stubs(unittest.TestCase):
    def test_name_what_is_there(self):
        core = stopbit._core
        folder = pathlib.Path(stopbit.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        tree = ast.parse((folder / "_core.pyi").read_text(encoding="utf-8"))
        kinds = (ast.ClassDef, ast.FunctionDef)
        stubs = {node.name: node for node in tree.body if isinstance(node, kinds)}
        self.assertEqual(stubs.keys(), {name for name in dir(core) if not name.startswith("_")})
        for name, node in stubs.items():
            self.assertTrue(getattr(core, name).__doc__ or isinstance(node, ast.FunctionDef), name)
            if isinstance(node, ast.ClassDef) and not node.bases:
                told = {each.name for each in node.body if isinstance(each, ast.FunctionDef)} - {"__init__"}
                there = {each for each in vars(getattr(core, name)) if not each.startswith("_")}
                self.assertEqual({each for each in told if not each.startswith("_")}, there, name)

    def test_everything_public_is_documented(self):
        for name in stopbit.__all__:
            self.assertTrue(getattr(stopbit, name).__doc__, name)


if __name__ == "__main__":
    os.makedirs(SCRATCH, exist_ok=True)
    FEEDS = list(feeds())
    add_some_fields()
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
