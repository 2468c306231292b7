"""Runs the commands of a page, those of its blocks ```sh, in one shell, and compares what they print with the blocks
```text that follow them. There a line `...` is any number of lines, and `...` in a line any text.

usage: tour_test.py PAGE
"""

import re
import subprocess
import sys

MARK = "@@@ end of block"


def blocks_of(page):
    """Commands, and what they have to print (None: that is not shown)."""
    blocks = []
    for kind, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if kind == "sh":
            blocks.append([text, None])
        elif kind == "text":
            if not blocks or blocks[-1][1] is not None:
                sys.exit(f"no command prints this:\n{text}")
            blocks[-1][1] = text
    return blocks


def pattern_of(text):
    parts = []
    for line in text.splitlines():
        whole = line.strip() == "..."
        parts.append(r"(?:.*\n)*?" if whole else re.escape(line.rstrip()).replace(r"\.\.\.", ".*?") + r" *\n")
    return re.compile("".join(parts))


def main(path):
    with open(path, encoding="utf-8") as page:
        blocks = blocks_of(page.read())
    script = ["set -eu -o pipefail", "exec 2>&1"]
    for number, (commands, _) in enumerate(blocks):
        script += [commands, f"printf '%s\\n' '{MARK} {number}'"]
    done = subprocess.run(["bash", "-c", "\n".join(script)], stdout=subprocess.PIPE, text=True, check=False,
                          encoding="utf-8", errors="replace")
    printed = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.MULTILINE)
    wrong = 0
    for number, (commands, expected) in enumerate(blocks):
        print(f"$ {commands}{printed[number] if number < len(printed) else ''}", flush=True)
        if number + 1 >= len(printed):
            sys.exit(f"block {number + 1} of {len(blocks)} failed, status {done.returncode}")
        if expected is not None and not pattern_of(expected).fullmatch(printed[number]):
            print(f"--- the page shows ---\n{expected}---")
            wrong += 1
    if wrong or done.returncode:
        sys.exit(f"{wrong} of {len(blocks)} blocks print something else than the page; status {done.returncode}")
    print(f"{len(blocks)} blocks of commands run")


if __name__ == "__main__":
    main(*sys.argv[1:])
