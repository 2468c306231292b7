"""Every line of the captures satisfies the JSON schema of its templates, and no altered line does.

usage: schema_test.py STOPBIT SAMPLE_FOLDER RICH_TEMPLATES

RICH_TEMPLATES has every type there is; rich.jsonl beside this file holds messages of it.
"""

import copy
import json
import os
import subprocess
import sys

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


def main(stopbit, sample, rich):
    check_rich(stopbit, rich)
    for case in feed.cases(sample):
        check(stopbit, *case)


if __name__ == "__main__":
    main(*sys.argv[1:])
