#!/usr/bin/env python3
"""The pages that list keys of settings say what the table says by which the files are read.

Every key of the table is named in its page; every row of a table of the page whose first cell is a key names one that
exists; and a default in it is a default of the table.

    pages_test.py STOPBIT SOURCE_FOLDER
"""
import json
import re
import subprocess
import sys
from pathlib import Path

PAGES = {
    "appliance": ["doc/appliance-settings.md", "host/ports/socket/README.md", "host/ports/dpdk/README.md",
                  "host/ports/capture/README.md", "host/ports/step/README.md"],
    "calendar": ["doc/calendars.md"],
    "feed": ["host/feed/README.md"],
    "map": ["doc/feed-maps.md"],
}


def keys_of(schema, path=()):
    """(path, default or None) of every key of a schema."""
    for name, key in schema.get("properties", {}).items():
        yield path + (name,), key.get("default")
        for one in (key, key.get("items", {}), *key.get("anyOf", []), *key.get("oneOf", [])):
            if isinstance(one, dict):
                yield from keys_of(one, path + (name,))
    any_name = schema.get("additionalProperties")
    if isinstance(any_name, dict):
        yield from keys_of(any_name, path + ("NAME",))


def shown(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def rows_of(text):
    """Cells of the tables whose head begins with `key`."""
    is_key_table = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            is_key_table = False
        elif cells[0] == "key":
            is_key_table = True
        elif is_key_table and not set(cells[0]) <= set("-: "):
            yield cells


def problems(stopbit, root, kind, pages):
    schema = json.loads(subprocess.run([stopbit, "config", "schema", kind], check=True, capture_output=True).stdout)
    defaults = {}
    for path, default in keys_of(schema):
        defaults.setdefault(path[-1], set())
        if default is not None:
            defaults[path[-1]].add(shown(default))
    texts = {page: (root / page).read_text() for page in pages}
    every = "\n".join(texts.values())
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", " ".join(re.findall(r"`[^`]*`|```.*?```", every, re.S))))
    # Whole files of examples count, too.
    for block in re.findall(r"```toml\n(.*?)```", every, re.S):
        words |= set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", block))
    for name in sorted(defaults):
        if name not in words and name != "NAME":
            yield f"{pages[0]}: the key '{name}' of {kind} settings is not named"
    for page, text in texts.items():
        for cells in rows_of(text):
            names = re.findall(r"`([^`]+)`", cells[0])
            for name in names:
                last = re.sub(r"[\[\]]", "", name).split(".")[-1]
                if last not in defaults:
                    yield f"{page}: there is no key '{name}'"
            if len(names) != 1 or len(cells) < 3 or names[0].startswith("["):
                continue
            said = cells[-1].strip("`\"")
            known = defaults.get(names[0].split(".")[-1], set())
            is_value = re.fullmatch(r"[0-9]+[A-Za-z]*|true|false", said) or cells[-1].startswith("`")
            if is_value and known and said not in known:
                yield f"{page}: the default of '{name}' is {' or '.join(sorted(known))}, not {said}"


def main():
    stopbit, root = sys.argv[1], Path(sys.argv[2])
    found = [problem for kind, pages in PAGES.items() for problem in problems(stopbit, root, kind, pages)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
