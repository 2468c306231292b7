"""Every line of the captures satisfies the JSON schema of its templates, and no altered line does.

usage: schema_test.py STOPBIT SAMPLE_FOLDER
"""

import copy
import json
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
        {"event": "gap", "channel": 310, "first": 91650, "missing": 3, "detail": "..."},
        {"event": "dropped", "channel": 310, "packet": 13, "offset": 4, "detail": "..."},
    ):
        if not validator.is_valid(line) or validator.is_valid({**line, "more": 1}):
            sys.exit(f"{name}: wrong about {json.dumps(line)}")
    print(f"{name}: {good} of {len(lines)} lines accepted, {wrong} altered ones refused")


def main(stopbit, sample):
    for case in feed.cases(sample):
        check(stopbit, *case)


if __name__ == "__main__":
    main(*sys.argv[1:])
