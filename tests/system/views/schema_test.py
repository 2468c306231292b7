"""Every line of the captures satisfies the JSON schema of its templates, and no altered line does.

usage: schema_test.py STOPBIT SAMPLE_FOLDER RICH_TEMPLATES

RICH_TEMPLATES has every type there is; rich.jsonl beside this file holds messages of it.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

import feed

try:
    import jsonschema
except ImportError:
    print("the package python3-jsonschema is not there: skipped", file=sys.stderr)
    sys.exit(feed.SKIPPED)

# Validation in Python is slow: the first lines of each template, and then every 50th.
FIRST = 20
EVERY = 50


def sample_of(lines):
    seen = {}
    for number, line in enumerate(lines):
        message = json.loads(line)
        count = seen[message["id"]] = seen.get(message["id"], 0) + 1
        if count <= FIRST or number % EVERY == 0:
            yield message


def alterations(message, nodes):
    """The message with one thing wrong with it."""

    def altered(path, change):
        other = copy.deepcopy(message)
        place = other
        for key in path:
            place = place[key]
        change(place)
        return other

    yield altered([], lambda place: place.pop("fields"))
    yield altered([], lambda place: place.update(id=place["id"] + 100000))
    yield altered([], lambda place: place.update(template=place["template"] + "x"))
    yield altered([], lambda place: place.update(more=1))
    yield altered(["fields"], lambda place: place.update(NoSuchField=1))
    for node in nodes:
        if node.name not in message["fields"]:
            continue
        value = message["fields"][node.name]
        if not node.optional:
            yield altered(["fields"], lambda place: place.pop(node.name))
        yield altered(["fields"], lambda place: place.update({node.name: None}))
        if node.kind in ("uInt32", "uInt64"):
            for wrong in (-1, 1 << (32 if node.kind == "uInt32" else 64), str(value), 0.5):
                yield altered(["fields"], lambda place: place.update({node.name: wrong}))
        elif node.kind in ("int32", "int64"):
            yield altered(["fields"], lambda place: place.update({node.name: 1 << (31 if node.kind == "int32" else 63)}))
        elif node.kind in ("string", "unicode", "byteVector"):
            yield altered(["fields"], lambda place: place.update({node.name: 1}))
        elif node.kind == "decimal":
            yield altered(["fields"], lambda place: place.update({node.name: "1"}))
        elif node.is_sequence() and value:
            yield altered(["fields", node.name, 0], lambda place: place.update(NoSuchField=1))
            yield altered(["fields", node.name], lambda place: place.append(7))
    if nodes and nodes[0].kind == "byteVector":
        yield altered(["fields"], lambda place: place.update({nodes[0].name: "0"}))


def check(stopbit, name, framing, templates, capture, lines):
    schema = json.loads(feed.run(stopbit, "gen", "schema", "--templates", templates))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    trees = feed.templates_of(templates)
    lines = lines or feed.replay(stopbit, framing, templates, capture, "jsonl").decode().splitlines()
    good = wrong = 0
    altered = set()
    for message in sample_of(lines):
        for error in validator.iter_errors(message):
            sys.exit(f"{name}: refused: {json.dumps(message)}\n{error.message}")
        good += 1
        if message["id"] in altered:
            continue
        altered.add(message["id"])
        for other in alterations(message, trees[message["id"], message["template"]]):
            if validator.is_valid(other):
                sys.exit(f"{name}: accepted: {json.dumps(other)}")
            wrong += 1
    for line in (
        {"error": "D2", "packet": 1, "offset": 3, "template": "T", "field": "F", "detail": "..."},
        {"error": "D2", "packet": 1, "offset": 3, "template": "T", "file": "t.xml", "line": 4, "detail": "..."},
        {"event": "gap", "channel": 310, "first": 91650, "missing": 3, "detail": "..."},
        {"event": "dropped", "channel": 310, "packet": 13, "offset": 4, "detail": "..."},
    ):
        if not validator.is_valid(line) or validator.is_valid({**line, "more": 1}):
            sys.exit(f"{name}: wrong about {json.dumps(line)}")
    print(f"{name}: {good} of {len(lines)} lines accepted, {wrong} altered ones refused")


# Path to a value of a message of rich.jsonl, and values it cannot have.
WRONG_VALUES = {
    "Integers I8": [-129, 128],
    "Integers U16": [-1, 65536],
    "Values Px": ["-0.5", None],
    "Values Raw": ["0", "0G", "FF"],
    "Values Side": ["Sell", "3", 1],
    "Values Marks": [["C"], "A", [1]],
    "Values Flag": [0, "true"],
    "Values At": [1.5, 1 << 63],
    "Constants High": [18446744073709551614],
    "Constants Half": [5],
    "Constants Text": ["W"],
    "Constants Side": ["1"],
    "Groups Must": [{}, {"B": 2}, {"B": 2, "Inner": {"D": 1}}],
    "Groups May": [[], {"E": 1}],
    "Nested Outer": [{}, [{"N": 0}], [{"N": 0, "Behind": 1, "More": 1}]],
    "Bits G": [{"N": 15, "Z": -4, "Side": "7"}, {"N": 15, "Side": "8", "Flag": False}],
    "Vectors U": [[-1], [[1]], [{"": 1}], 1],
    "Vectors I": [[1 << 63], None],
}


def check_rich(stopbit, templates):
    schema = json.loads(feed.run(stopbit, "gen", "schema", "--templates", templates))
    validator = jsonschema.Draft202012Validator(schema)
    with open(os.path.join(os.path.dirname(__file__), "rich.jsonl"), "rb") as text:
        lines = text.read()
    options = ["--templates", templates, "--reset", "packet"]
    sent = subprocess.run([stopbit, "encode", "-q", *options], input=lines, capture_output=True, check=True)
    # A datagram that is cut, and one with an unknown template.
    bad = b"c0 81\nc0 ff\n"
    printed = subprocess.run([stopbit, "decode", *options], input=sent.stdout + bad, capture_output=True, check=False).stdout
    if not printed.startswith(lines):
        sys.exit(f"rich: encoded and decoded, the lines are others:\n{printed.decode()}")
    messages = [json.loads(line) for line in printed.splitlines()]
    if [message.get("error") for message in messages[-2:]] != ["X1", "D9"]:
        sys.exit(f"rich: the bad datagrams are no errors:\n{printed.decode()}")
    for message in messages:
        for error in validator.iter_errors(message):
            sys.exit(f"rich: refused: {json.dumps(message)}\n{error.message}")
    wrong = 0
    for path, values in WRONG_VALUES.items():
        template, name = path.split()
        (message,) = [message for message in messages if message.get("template") == template and "fields" in message]
        for value in values:
            if validator.is_valid({**message, "fields": {**message["fields"], name: value}}):
                sys.exit(f"rich: accepted: {path} = {json.dumps(value)}")
            wrong += 1
    print(f"rich: {len(messages)} lines accepted, {wrong} altered ones refused")


MARKET_TEMPLATES = """<templates>
  <template name="Entry" id="1"><uInt32 name="Seq"/><string name="Type"/><uInt32 name="Security"/>
    <uInt32 name="Number"/><uInt32 name="Level" presence="optional"/><decimal name="Price" presence="optional"/>
    <uInt32 name="Size" presence="optional"/></template>
  <template name="Definition" id="2"><uInt32 name="Seq"/><uInt32 name="Security"/><string name="Name"/>
    <decimal name="Tick"/><uInt32 name="Depth"/></template>
  <template name="Status" id="3"><uInt32 name="Seq"/><uInt32 name="Security"/><uInt32 name="State"/></template>
</templates>"""
MARKET_MAP = """[feed]
name = "lines"
[sequence]
message = "Seq"
entry = "Number"
[instrument]
key = ["Security"]
[[book]]
by = "level"
position = "Level"
price = "Price"
quantity = "Size"
[[message]]
kind = "incremental"
templates = ["Entry"]
[[message]]
kind = "definition"
templates = ["Definition"]
name = "Name"
step = "Tick"
depth = "Depth"
[[message]]
kind = "state"
templates = ["Status"]
state = { field = "State", scale = "trading" }
[[message]]
kind = "other"
templates = ["FastReset"]
[[entry]]
when = { Type = ["0", "1"] }
role = "book"
side_field = "Type"
sides = { 0 = "bid", 1 = "ask" }
[[entry]]
when = { Type = "2" }
role = "trade"
[[entry]]
when = { Type = "J" }
role = "empty"
[[entry]]
role = "statistic"
statistic_field = "Type"
statistics = { 4 = "open" }
[scale]
trading = { open = [17] }
"""
MARKET_LINES = """
{"template":"Definition","fields":{"Seq":1,"Security":7,"Name":"Seven","Tick":0.5,"Depth":2}}
{"template":"Status","fields":{"Seq":2,"Security":7,"State":17}}
{"template":"Entry","fields":{"Seq":3,"Type":"J","Security":7,"Number":1}}
{"template":"Entry","fields":{"Seq":4,"Type":"0","Security":7,"Number":2,"Level":1,"Price":10.5,"Size":3}}
{"template":"Entry","fields":{"Seq":5,"Type":"2","Security":7,"Number":3,"Price":10.5,"Size":1}}
{"template":"Entry","fields":{"Seq":6,"Type":"4","Security":7,"Number":4,"Price":10}}
{"template":"Entry","fields":{"Seq":7,"Type":"0","Security":7,"Number":9,"Level":2,"Price":-1,"Size":3}}
"""
# Keys of lines, by what the line is, and values that they cannot have.
MARKET_WRONG = {
    "event": {"event": "sold", "channel": 65536, "side": "none", "level": 0, "price": "1", "time": -1, "flags": ["x"],
              "statistic": 1, "cause": "", "state": "on"},
    "row": {"row": 0, "instrument": 7, "tick": 0.5, "book": "none", "trading_state": "on", "defined": {"channel": 1}},
    "bids": {"seq": None, "state": "open", "epoch": -1, "bids": [["1.50", 1, 1]], "asks": [["1", 1]]},
}


def check_market(stopbit):
    validator = jsonschema.Draft202012Validator(json.loads(feed.run(stopbit, "gen", "schema", "--market")))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("t.xml", "m.toml", "day.jsonl", "day.pcap")]
        for path, text in zip(paths, (MARKET_TEMPLATES, MARKET_MAP, MARKET_LINES)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        options = ["--templates", paths[0], "--framing", "moex", "-q"]
        subprocess.run([stopbit, "encode", paths[2], *options, "-o", paths[3]], check=True)
        for command in (["replay", "--events"], ["book", "--format", "jsonl"], ["instruments"]):
            done = subprocess.run([stopbit, *command, paths[3], *options, "--map", paths[1]], check=True, capture_output=True)
            lines += [json.loads(line) for line in done.stdout.splitlines()]
    wrong = 0
    seen = set()
    for line in lines:
        for error in validator.iter_errors(line):
            sys.exit(f"market: refused: {json.dumps(line)}\n{error.message}")
        (what,) = [key for key in MARKET_WRONG if key in line]
        seen.add(line.get("event", what))
        for key, value in MARKET_WRONG[what].items():
            if validator.is_valid({**line, key: value}):
                sys.exit(f"market: accepted: {key} = {json.dumps(value)} in {json.dumps(line)}")
            wrong += 1
    if not seen >= {"definition", "state", "clear", "new", "trade", "statistic", "stale", "row", "bids"}:
        sys.exit(f"market: only {sorted(seen)}")
    print(f"market: {len(lines)} lines accepted, {wrong} altered ones refused")


def main(stopbit, sample, rich):
    check_market(stopbit)
    check_rich(stopbit, rich)
    for case in feed.cases(sample):
        check(stopbit, *case)


if __name__ == "__main__":
    main(*sys.argv[1:])
