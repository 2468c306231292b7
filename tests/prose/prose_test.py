#!/usr/bin/env python3
"""Checks the texts that users read: plain English, the size of READMEs, links, and doc/architecture.md.

    prose_test.py [--stopbit BINARY]     everything; with the binary the help texts, too
    prose_test.py FILE...                these files only
    prose_test.py --comments FILE...     the comments of these sources

Texts: Markdown pages, `stopbit --help` of every command, string literals of the product (HELP of metrics, errors, lines
of the log), alerts, comments of the headers that are installed. allow.txt lists exceptions, each with its reason.
README.md next to this file explains the rules.
"""

import argparse
import ast
import fnmatch
import functools
import html.parser
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOW = pathlib.Path(__file__).resolve().parent / "allow.txt"

README_LINES, TOP_README_LINES, README_COLUMNS = 100, 150, 120

# String literals of the product: help, HELP of metrics, errors, lines of the log. Alerts and dashboards.
HELP_SOURCES = [f"{room}/**/*{suffix}" for room in ("assembler", "decoder", "host", "microcode", "templates")
                for suffix in (".cpp", ".hpp", ".def", ".c", ".h")] + ["host/**/monitoring/*"]
# Texts of other languages: the web page, Wireshark's tree, docstrings of the Python module, the script.
HELP_SOURCES += ["host/**/*.html", "templates/**/*.lua", "host/bindings/**/*.py", "host/bindings/**/*.pyi", "dev"]

# Where the lists of installed headers are: their comments are read, too.
HEADER_LISTS = ["cmake/StopbitInstall.cmake", "decoder/record/CMakeLists.txt"]

# Pages whose paths in code have to exist.
WITH_PATHS = ["doc/architecture.md", "CONTRIBUTING.md", "SECURITY.md"]
TOP_FOLDERS = "microcode|templates|assembler|decoder|host|fpga|tests|bench|doc"

# Pages that programs write. Their links are checked, their words are those of the program.
GENERATED = ["*/generated/*", "bench/results/*"]

SENTENCE = r"(?:^|(?<=[.:;!?] )|(?<=\| )|(?<=^- )|(?<=^\* ))"

# name: pattern, what to write instead.
RULES = {
    "who": (SENTENCE + r"(?:who|whoever|whom)\b(?![^.]*\?)|\b(?:for|of|by|to|and|but|or|with|from) (?:who|whoever)\b",
            "name the subject: a reader, a process, a user"),
    "what": (SENTENCE + r"(?-i:What) (?:is|are|has|have|was|comes|came|goes|stays|follows|waits|remains)\b(?![^.]*\?)", "name the subject"),
    "which": (SENTENCE + r"(?-i:Which)\b(?![^.]*\?)", "name the subject"),
    "behind": (r"(?<!fall )(?<!falls )(?<!fell )(?<!fallen )(?<!falling )(?<!is )(?<!are )\bbehind\b", "after, next"),
    "stands": (r"\b(?:stands?|stood|standing)\b(?! for\b)", "is, is in, is listed in"),
    "told": (r"\b(?:is|are|was|were|be|been|being) (?:told|asked|given out)\b", "say who tells: the housekeeper logs, the reader sees"),
    "so many": (r"\bso (?:many|long|much)\b(?! that\b)|\bas many as (?:are|there)\b", "name the number or the parameter"),
    "nobody": (r"\b(?:nobody|somebody|anybody|everybody|no one)\b|" + SENTENCE + r"One that\b", "no process, another user, a packet that"),
    "is there": (r"\b(?:is|are|was|were) (?:there|here|gone)\b(?! (?:a|an|any|no)\b)", "exists, has arrived, has exited"),
    "doors": (r"\bdoors?\b", "the field's word: endpoint, socket"),
    "some": (r"\b(?:some|about) \d", "the measured value with its unit"),
}
COMPILED = {name: (re.compile(pattern, re.IGNORECASE), advice) for name, (pattern, advice) in RULES.items()}


class Finding:
    def __init__(self, where, line, rule, text):
        self.where, self.line, self.rule, self.text = where, line, rule, text

    def __str__(self):
        return f"{self.where}:{self.line}: {self.rule}: {self.text}"


# ------------------------------------------------------------------------------------------------------------- prose


def check_words(where, lines):
    """`lines`: (number, text) without code."""
    found = []
    for number, text in lines:
        for rule, (pattern, advice) in COMPILED.items():
            for match in pattern.finditer(text):
                excerpt = text[max(0, match.start() - 30):match.end() + 30].strip()
                found.append(Finding(where, number, rule, f"'{excerpt}' (write: {advice})"))
    return found


def paragraphs(text):
    """The prose of a page: paragraphs, list items and table rows, each with its first line; code and links removed."""
    result, fenced, begin, parts = [], False, 0, []

    def flush():
        if parts:
            joined = " ".join(parts)
            joined = re.sub(r"`[^`]*`", "X", joined)
            joined = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", joined)
            joined = re.sub(r"[*_]{1,2}", "", joined)
            result.append((begin, joined))
            parts.clear()

    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
            flush()
        elif fenced or not stripped or (line.startswith("    ") and not parts):
            flush()
        elif stripped.startswith(("#", "<!--")) or re.fullmatch(r"[|:\- ]+", stripped):
            flush()  # a heading may be a question without a mark; separators of tables
        else:
            if stripped.startswith("|") or re.match(r"([-*]|\d+\.) ", stripped):
                flush()
            if not parts:
                begin = number
            parts.append(re.sub(r"^([-*]|\d+\.) ", "", stripped))
            if stripped.startswith("|"):
                flush()
    flush()
    return result


CPP_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|(?<!\w)'(?:[^'\\\n]|\\.)+'|"((?:[^"\\\n]|\\.)*)\"""", re.DOTALL)


def literals(text):
    """String literals of a C++ source that hold words: neighbours are one text, an empty line in it begins another.

    Raw strings (scripts, JSON) and texts with `::` (generated C++) are left out."""
    joined, end = [], None
    for match in CPP_TOKEN.finditer(text):
        if match.group(2) is None:
            continue
        if end is not None and not text[end:match.start()].strip():
            joined[-1][1] += match.group(2)
        else:
            joined.append([match.start(), match.group(2)])
        end = match.end()
    return [(text.count("\n", 0, begin) + 1, re.sub(r"`[^`]*`", "X", re.sub(r"\s+", " ", part)).strip())
            for begin, content in joined if " " in content.strip() and "::" not in content
            for part in re.split(r"\n\s*\n", content.replace("\\n", "\n").replace('\\"', '"'))]


SYSTEM_VERILOG = (".sv", ".svh")
SOURCES = (".cpp", ".hpp", ".def", ".c", ".h", *SYSTEM_VERILOG)
SV_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*\"""", re.DOTALL)


def comments(name, text):
    """The comments of a source: (line, text) of each paragraph, list item and comment at the end of a line of code."""
    lines = []  # [number, text, is the next line of the same comment]
    end = None
    for match in (SV_TOKEN if name.endswith(SYSTEM_VERILOG) else CPP_TOKEN).finditer(text):
        token = match.group(0)
        if not token.startswith("/"):
            continue
        number = text.count("\n", 0, match.start()) + 1
        is_alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if token.startswith("/*"):
            body = re.sub(r"(?m)^\s*\*", "", token[2:-2].lstrip("*!<"))
            lines += [[number + i, line, i > 0] for i, line in enumerate(body.split("\n"))]
            end = None
            continue
        follows = end is not None and is_alone and re.fullmatch(r"[ \t]*\n[ \t]*", text[end:match.start()])
        lines.append([number, re.sub(r"^//[/!]?<?", "", token), bool(follows)])
        end = match.end()
    result = []
    for number, line, follows in lines:
        item = re.match(r" *[-*] ", line)
        plain = re.sub(r"`[^`]*`", "X", re.sub(r"^ *(?:[-*] |@\w+ )?", "", line).strip())
        if follows and plain and not item and result and result[-1][1]:
            result[-1][1] += " " + plain
        else:
            result.append([number, plain])
    return [(number, part) for number, part in result if part and "NOLINT" not in part]


@functools.cache
def installed_headers(root):
    """Headers of C++ and C that `cmake --install` installs, by the lists in HEADER_LISTS."""
    names = {name for page in HEADER_LISTS if (root / page).exists()
             for name in re.findall(r"[\w/.*]+/[\w.*]+\.(?:hpp|h|def)\b", (root / page).read_text())}
    return {str(path.relative_to(root)) for name in names for path in root.glob(name.lstrip("/"))}


def yaml_texts(text):
    return [(number, match.group(1).strip("'\""))
            for number, line in enumerate(text.splitlines(), 1)
            if (match := re.search(r"(?:summary|description): *(.*)", line))]


def json_texts(text):
    found = []

    def walk(value, key=""):
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, name)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, str) and key in ("title", "description"):
            found.append((1, value))

    walk(json.loads(text))
    return found


class PageTexts(html.parser.HTMLParser):
    """What a browser shows of a page: text, titles, labels; string literals of its scripts that hold words."""

    SHOWN = ("title", "aria-label", "placeholder", "alt")

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [(self.getpos()[0], value) for name, value in attributes if name in self.SHOWN and value]
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        line = self.getpos()[0]
        if "script" in self.inside:
            self.found += [(line + data.count("\n", 0, match.start()), match.group(2))
                           for match in re.finditer(r"""(['"`])((?:(?!\1)[^\\\n]|\\.)* (?:(?!\1)[^\\\n]|\\.)*)\1""", data)]
        elif not self.inside and data.strip():
            self.found.append((line, re.sub(r"\s+", " ", data).strip()))


def lua_texts(text):
    """String literals that hold words."""
    return [(number, match.group(2)) for number, line in enumerate(text.splitlines(), 1)
            for match in re.finditer(r"""(?<!-)(['"])((?:(?!\1)[^\\]|\\.)* (?:(?!\1)[^\\]|\\.)*)\1""", line.split("--")[0])]


def docstrings(text):
    """Paragraphs of the docstrings of a module, and of all in it."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            found += [(node.body[0].lineno, part) for _, part in paragraphs(ast.get_docstring(node))]
    return found


def script_texts(text):
    """The lines of help, and what `say` and `fail` print."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(r"""\b(?:say|fail(?: \S+)?) "((?:[^"\\]|\\.)*)\"""", line):
            found.append((number, match.group(1)))
        elif match := re.match(r"(?:  [a-z][\w\[\]| .<>-]*| {24})  +([A-Za-z`].*)", line):
            found.append((number, match.group(1)))
    return found


# ------------------------------------------------------------------------------------------------------------- pages


def check_size(where, text):
    if pathlib.PurePath(where).name != "README.md":
        return []
    lines, most = text.splitlines(), TOP_README_LINES if where == "README.md" else README_LINES
    found = [Finding(where, number, "columns", f"{len(line)} columns, at most {README_COLUMNS}")
             for number, line in enumerate(lines, 1) if len(line) > README_COLUMNS]
    if len(lines) > most:
        found.append(Finding(where, len(lines), "lines", f"{len(lines)} lines, at most {most}"))
    return found


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    result, fenced = set(), False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        match = re.match(r"#+ +(.*)", line)
        if match and not fenced:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            number = 0
            while (name := slug if number == 0 else f"{slug}-{number}") in result:
                number += 1
            result.add(name)
    return result


def check_links(where, text):
    found, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", lambda match: "x" * len(match.group(0)), line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (ROOT / where).parent / name if name else ROOT / where
            if not path.exists():
                found.append(Finding(where, number, "link", f"'{target}' does not exist"))
            elif anchor:
                page = path / "README.md" if path.is_dir() else path
                if page.suffix == ".md" and anchor not in anchors(page.read_text()):
                    found.append(Finding(where, number, "link", f"'{target}': no such heading"))
    return found


def check_architecture():
    """The rooms that doc/architecture.md lists are the folders of host/; paths in code exist."""
    where = "doc/architecture.md"
    text = (ROOT / where).read_text()
    named = set(re.findall(r"^\| \[`host/([a-z_]+)`\]", text, re.MULTILINE))
    exist = {path.name for path in (ROOT / "host").iterdir() if path.is_dir() and path.name != "__pycache__"}
    found = [Finding(where, 1, "rooms", f"host/{name} is missing from the table of rooms") for name in sorted(exist - named)]
    return found + [Finding(where, 1, "rooms", f"host/{name} is in the table of rooms, and does not exist") for name in sorted(named - exist)]


def check_paths(where, text):
    """Paths in code exist; a name in capitals is one that the reader chooses."""
    return [Finding(where, number, "path", f"'{path}' does not exist") for number, line in enumerate(text.splitlines(), 1)
            for path in re.findall(rf"`((?:{TOP_FOLDERS})/[\w./-]+)`", line)
            if not re.search(r"[A-Z]{3}", pathlib.PurePath(path).stem.replace("README", "")) and not (ROOT / path).exists()]


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def check_file(name):
    text = (ROOT / name).read_text()
    if name.endswith(".md"):
        words = [] if matches(name, GENERATED) else check_words(name, paragraphs(text))
        found = words + check_size(name, text) + check_links(name, text)
        found += check_paths(name, text) if name in WITH_PATHS else []
        return found + (check_architecture() if name == "doc/architecture.md" else [])
    if name.endswith((".yml", ".yaml")):
        return check_words(name, yaml_texts(text))
    if name.endswith(".json"):
        return check_words(name, json_texts(text))
    if name.endswith(".html"):
        return check_words(name, PageTexts(text).found)
    if name.endswith(".lua"):
        return check_words(name, lua_texts(text))
    if name.endswith((".py", ".pyi")):
        return check_words(name, docstrings(text))
    if name == "dev":
        return check_words(name, script_texts(text))
    return check_words(name, literals(text)) + (check_words(name, comments(name, text)) if name in installed_headers(ROOT) else [])


# -------------------------------------------------------------------------------------------------------------- help


def help_of(stopbit, *command):
    done = subprocess.run([stopbit, *command, "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "100"})
    return done.stdout


def help_paragraphs(text):
    """Help is wrapped: joins its lines, so that sentences begin where they do."""
    return [(number, re.sub(r"\s+", " ", part).strip()) for number, part in enumerate(re.split(r"\n\s*\n", text), 1)]


def check_help(stopbit):
    top = help_of(stopbit)
    found = check_words("stopbit --help", help_paragraphs(top))
    for command in re.findall(r"^  ([a-z-]+) {2,}\S", top, re.MULTILINE):
        found += check_words(f"stopbit {command} --help", help_paragraphs(help_of(stopbit, command)))
    return found


# ------------------------------------------------------------------------------------------------------------- allow


class Entry:
    def __init__(self, number, line):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts):
            sys.exit(f"{ALLOW}:{number}: expected 'text | rule or words | reason'")
        self.number, (self.where, self.words, self.reason) = number, parts
        self.used = False

    def allows(self, finding):
        if not fnmatch.fnmatch(finding.where, self.where) or not (self.words == finding.rule or self.words in finding.text):
            return False
        self.used = True
        return True


def read_allow():
    return [Entry(number, line) for number, line in enumerate(ALLOW.read_text().splitlines(), 1)
            if line.strip() and not line.startswith("#")]


def prune(entries):
    unused = {entry.number for entry in entries if not entry.used}
    lines = ALLOW.read_text().splitlines(keepends=True)
    ALLOW.write_text("".join(line for number, line in enumerate(lines, 1) if number not in unused))


def add(findings, reason):
    """One entry for each text and rule."""
    seen = dict.fromkeys((finding.where, finding.rule) for finding in findings)
    with ALLOW.open("a") as file:
        file.writelines(f"{where} | {rule} | {reason}\n" for where, rule in seen)


# -------------------------------------------------------------------------------------------------------------- main


def all_files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=False)
    pages = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md") if "build" not in path.relative_to(ROOT).parts]
    sources = [str(path.relative_to(ROOT)) for pattern in HELP_SOURCES for path in ROOT.glob(pattern) if path.is_file()]
    return sorted(name for name in {*pages, *sources, *installed_headers(ROOT)} if (ROOT / name).exists() and not name.startswith("tests/fuzz/corpus/"))


def main():
    parser = argparse.ArgumentParser(description="Checks the texts that users read.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these")
    parser.add_argument("--comments", action="store_true", help="check the comments of these sources instead")
    parser.add_argument("--stopbit", metavar="BINARY", help="check the help texts of this program, too")
    parser.add_argument("--prune", action="store_true", help="delete the entries of allow.txt that nothing needs any more")
    parser.add_argument("--allow", metavar="REASON", help="add what is found to allow.txt, with this reason")
    options = parser.parse_args()

    names = [str(pathlib.Path(name).resolve().relative_to(ROOT)) for name in options.files] or all_files()
    if options.comments:
        findings = [finding for name in names if name.endswith(SOURCES) for finding in check_words(name, comments(name, (ROOT / name).read_text()))]
    else:
        findings = [finding for name in names for finding in check_file(name)]
    if options.stopbit:
        findings += check_help(options.stopbit)

    entries = read_allow()
    left = [finding for finding in findings if not any([entry.allows(finding) for entry in entries])]
    if options.allow:
        add(left, options.allow)
        left = []
    if left:
        print("\n".join(map(str, left)))
    checked = [entry for entry in entries if not options.files and (options.stopbit or not entry.where.startswith("stopbit "))]
    unused = [entry for entry in checked if not entry.used]
    if options.prune:
        for entry in entries:
            entry.used = entry.used or entry not in checked
        prune(entries)
        unused = []
    for entry in unused[:10]:
        print(f"{ALLOW.relative_to(ROOT)}:{entry.number}: nothing needs this entry any more: delete it, or run --prune")
    if len(unused) > 10:
        print(f"... and {len(unused) - 10} more of these")
    print(f"{len(names)} files{', help texts' if options.stopbit else ''}: {len(left)} findings, {len(entries)} exceptions, {len(unused)} unused")
    return 1 if left or unused else 0


if __name__ == "__main__":
    sys.exit(main())
