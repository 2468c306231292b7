#!/usr/bin/env python3
"""Writes copies of modules with many single faults in them, of which a number chooses one at run time.

So one Verilated model holds all faults, and none of them costs a build. A fault stands at an expression: the right side of an
assignment or a condition, with one operator or constant changed, turned around as a whole, or left out (the old
value stays). `stopbit_fault`, which each copy asks for once from outside (DPI function `stopbit_fault_number`), says which one is there; 0: none. Assertions, declarations and constants of types are left as they are.

OUT gets <module>.sv for each module and faults.json: number, module, line, what is assigned (nothing for a condition), what stood there, what stands there now.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

SWAPS = {
    "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "!": "", "~": "", "*": "+",
}
# Literals first, then operators, the longest first. What is no operator of an expression is taken as a whole: `+:`, `+=`.
TOKEN = re.compile(
    r"(?P<literal>\d+'(?P<base>[bdh])(?P<value>[0-9a-fA-F_]+))|(?P<fill>'[01])|(?P<word>\$?\w+)|(?P<cast>')|"
    r"(?P<other>\+:|-:|\+\+|--|[-+|&^]=|->|>>>|<<<)|(?P<operator>==|!=|&&|\|\||<=|>=|<<|>>|[-+<>&|^!~*])|(?P<single>\S)")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def masked(text):
    """The same text, of the same length, with blanks for what is never changed: comments, strings, assertions."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', blank, text)
    # `ifndef SYNTHESIS to its `endif, over nested ones.
    out, at = [], 0
    for match in re.finditer(r"`ifndef\s+SYNTHESIS\b", text):
        if match.start() < at:
            continue
        depth, end = 0, match.start()
        for line in re.finditer(r"`(ifn?def|endif)\b", text[match.start():]):
            depth += -1 if line.group(1) == "endif" else 1
            if depth == 0:
                end = match.start() + line.end()
                break
        out += [text[at:match.start()], re.sub(r"[^\n]", " ", text[match.start():end])]
        at = end
    return "".join(out) + text[at:]


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    raise ValueError("brackets do not match")


def behaviour(text):
    """The ranges that hold statements: always blocks, assigns and functions."""
    ranges = []
    for match in re.finditer(r"\balways_comb\b|\balways_ff\s*@\s*\([^)]*\)|\bassign\b|\bfunction\b", text):
        if ranges and match.start() < ranges[-1][1]:
            continue
        if match.group(0) == "function":
            begin = text.index(";", match.end()) + 1
            end = text.index("endfunction", begin)
        else:
            begin = end = match.end()
            depth = 0
            for token in re.finditer(r"\b(begin|end|case|endcase)\b|[;(\[{)\]}]", text[begin:]):
                word = token.group(0)
                depth += word in ("begin", "case", "(", "[", "{")
                depth -= word in ("end", "endcase", ")", "]", "}")
                end = begin + token.end()
                if depth == 0 and word in (";", "end", "endcase") and not re.match(r"\s*else\b", text[end:]):
                    break
        ranges.append((begin, end, match.group(0).startswith("always_ff")))
    return ranges


def expressions(text):
    """(begin, end, left side, is a condition, is clocked) of what can be changed."""
    found = []
    for begin, end, clocked in behaviour(text):
        for match in re.finditer(r"\bif\s*\(", text[begin:end]):
            first = begin + match.end() - 1
            found.append((first + 1, closing(text, first), None, True, clocked))
        start = begin
        depth = 0
        for i in range(begin, end):
            depth += text[i] in "([{"
            depth -= text[i] in ")]}"
            if text[i] != ";" or depth != 0:
                continue
            statement = text[start:i]
            equals = assignment(statement)
            if equals and not re.search(r"\b(logic|localparam|int|typedef|automatic|return)\b", statement[:equals[0]]):
                left = re.search(r"([\w.]+)\s*$", statement[:equals[0]])
                found.append((start + equals[1], i, left and left.group(1), False, clocked))
            start = i + 1
    return found


def assignment(statement):
    """Where the first = or <= outside brackets stands."""
    depth = 0
    for token in re.finditer(r"[(\[{)\]}]|==|!=|>=|<=|=", statement):
        word = token.group(0)
        depth += word in ("(", "[", "{")
        depth -= word in (")", "]", "}")
        if depth == 0 and word in ("=", "<="):
            return token.span()
    return None


def changes(expression, left, is_condition, clocked):
    """What can stand in place of the expression, each with one fault."""
    if "'{" in expression:
        return
    frozen = set()  # ranges of bits and widths of casts stay
    for i, character in enumerate(expression):
        if character in "([{":
            end = closing(expression, i)
            if (character == "[" and ":" in expression[i:end]) or (character == "(" and expression[end + 1:end + 2] == "'"):
                frozen.update(range(i, end + 1))
    before = ""
    for token in TOKEN.finditer(expression):
        begin, end = token.span()
        word, kind = token.group(0), token.lastgroup
        new = None
        if begin in frozen:
            pass
        elif token.group("operator"):
            is_binary = bool(re.fullmatch(r"\w+|[)\]}]", before))
            if is_binary == (word not in ("!", "~")):
                new = SWAPS[word]
        elif token.group("fill"):
            new = "'1" if word == "'0" else "'0"
        elif token.group("literal"):
            width = int(word.split("'")[0])
            base = {"b": 2, "d": 10, "h": 16}[token.group("base")]
            value = (int(token.group("value"), base) + 1) % (1 << width)
            new = f"{width}'d{value}"
        if new is not None:
            yield expression[:begin] + new + expression[end:]
        if kind != "cast":
            before = word
    if is_condition:
        yield f"!({expression.strip()})"
    elif left and re.fullmatch(r"\w+(_q|_d)", left) and (clocked or left.endswith("_d")):
        # As if the assignment were not there. Without `x_d = x_q` there would only be a latch in the place of the register.
        if clocked or expression.strip() != left[:-1] + "q":
            yield left


def candidates(path):
    text = masked(path.read_text())
    for begin, end, left, is_condition, clocked in expressions(text):
        for changed in changes(text[begin:end], left, is_condition, clocked):
            yield {"module": path.stem, "left": left or "", "line": text.count("\n", 0, begin + len(text[begin:end]) - len(text[begin:end].lstrip())) + 1,
                   "begin": begin, "end": end, "was": " ".join(text[begin:end].split()), "is": " ".join(changed.split())}


def write_copy(path, faults, out):
    text = path.read_text()
    for begin, end in sorted({(fault["begin"], fault["end"]) for fault in faults}, reverse=True):
        # Line by line, so that a message of Verilator names the fault.
        here = "".join(f"stopbit_fault == {fault['number']} ? ({fault['is']}) : "
                       for fault in faults if (fault["begin"], fault["end"]) == (begin, end))
        text = text[:begin] + " " + here + "(" + " ".join(masked(text[begin:end]).split()) + ")" + text[end:]
    header = re.search(r"\bmodule\s+" + path.stem + r"\b.*?\)\s*;", masked(text), flags=re.S)
    choice = ('\n  import "DPI-C" function int stopbit_fault_number();\n  int stopbit_fault;\n'
              "  initial stopbit_fault = stopbit_fault_number();\n")
    (out / path.name).write_text(text[:header.end()] + choice + text[header.end():])


def refused(command, out):
    """Numbers of the faults that Verilator refuses; stops if it refuses something else."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    numbers = set()
    for file, line in re.findall(r"^%Error[^:]*: (\S+?):(\d+):", done.stderr, flags=re.M):
        path = pathlib.Path(file)
        text = path.read_text().splitlines()[int(line) - 1] if path.parent.resolve() == out.resolve() else ""
        numbers.update(int(number) for number in re.findall(r"stopbit_fault == (\d+) ", text))
    if done.returncode != 0 and not numbers:
        sys.exit("mutate: " + done.stderr)
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=200, help="faults in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lint", required=True, help="the command that lints the top module with OUT before the other folders, '|' between its words")
    parser.add_argument("modules", nargs="+", type=pathlib.Path, metavar="MODULE.sv")
    options = parser.parse_args()

    choice = random.Random(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    possible = [fault for path in options.modules for fault in candidates(path)]
    choice.shuffle(possible)
    faults = []
    while True:
        while len(faults) < options.count and possible:
            faults.append(possible.pop())
        for number, fault in enumerate(sorted(faults, key=lambda fault: (fault["module"], fault["begin"])), 1):
            fault["number"] = number
        for path in options.modules:
            write_copy(path, [fault for fault in faults if fault["module"] == path.stem], options.out)
        bad = refused(options.lint.split("|"), options.out)
        if not bad:
            break
        faults = [fault for fault in faults if fault["number"] not in bad]
    faults.sort(key=lambda fault: fault["number"])
    keys = ("number", "module", "line", "left", "was", "is")
    (options.out / "faults.json").write_text(
        "[\n" + ",\n".join(json.dumps({key: fault[key] for key in keys}) for fault in faults) + "\n]\n")


if __name__ == "__main__":
    main()
