"""The tag=value text of the captures is what the expected JSON lines say, converted here by the ids of the template file.

usage: fix_test.py STOPBIT SAMPLE_FOLDER
"""

import json
import sys

import feed


class Number(str):
    """A number as it was written."""


def decimal_text(text):
    """Without exponent, which FIX does not have."""
    digits, _, exponent = text.partition("e")
    return digits + "0" * int(exponent or 0) if digits != "0" else digits


def readable(value, is_text):
    """As the readable style writes bytes: `value` is a string of characters, or bytes."""
    out = b""
    for character in value if is_text else [bytes([byte]) for byte in value]:
        raw = character.encode() if is_text else character
        plain = raw not in (b"|", b"\\") and (0x20 <= raw[0] < 0x7F or (is_text and raw[0] >= 0x80))
        out += raw if plain else b"".join(b"\\x%02x" % byte for byte in raw)
    return out


def pair(tag, name, value):
    return (str(tag) if tag is not None else name).encode() + b"=" + value + b"|"


def fields(nodes, values):
    out = b""
    for node in nodes:
        if node.name not in values:
            continue
        value = values[node.name]
        if node.is_sequence():
            out += pair(node.length_tag, node.length_name or node.name, str(len(value)).encode())
            for element in value:
                out += fields(node.inside, element)
        elif node.kind == "group":
            out += fields(node.inside, value)
        elif node.kind == "byteVector":
            out += pair(node.tag, node.name, readable(bytes.fromhex(value), False))
        elif node.kind == "unicode":
            out += pair(node.tag, node.name, readable(value, True))
        elif node.kind == "string":
            out += pair(node.tag, node.name, readable(value.encode("latin-1"), False))
        else:
            out += pair(node.tag, node.name, decimal_text(value).encode())
    return out


def main(stopbit, sample):
    for name, framing, templates, capture, lines in feed.cases(sample):
        trees = feed.templates_of(templates)
        lines = lines or feed.replay(stopbit, framing, templates, capture, "jsonl").decode().splitlines()
        printed = feed.replay(stopbit, framing, templates, capture, "fix").split(b"\n")[:-1]
        if len(printed) != len(lines):
            sys.exit(f"{name}: {len(printed)} lines of FIX for {len(lines)} messages")
        for number, (line, fix) in enumerate(zip(lines, printed), 1):
            message = json.loads(line, parse_int=Number, parse_float=Number)
            key = int(message["id"]), message["template"]
            wanted = fields(trees[key], message["fields"]) or b"#template=%s|id=%d|" % (key[1].encode(), key[0])
            if fix != wanted:
                sys.exit(f"{name}, message {number}:\n  wanted {wanted!r}\n  is     {fix!r}")
        raw = feed.replay(stopbit, framing, templates, capture, "fix-raw")
        if b"\\x" not in b"".join(printed) and raw.replace(b"\x01", b"|") != b"\n".join(printed) + b"\n":
            sys.exit(f"{name}: raw and readable differ in more than the separator")
        print(f"{name}: {len(lines)} messages agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
