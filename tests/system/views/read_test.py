"""A program that includes the generated header and nothing else of the feed reads every capture out of a ring, and its
values are the expected ones. The program is written here from the template file, accessor by accessor.

usage: read_test.py STOPBIT SAMPLE_FOLDER SCRATCH_FOLDER COMPILER [FLAG...] -- LIBRARY...
"""

import json
import os
import shutil
import sys

import feed


def leaves_block(node):
    return node.is_sequence() or any(leaves_block(inner) for inner in node.inside)


def calls(nodes, view, depth, out):
    """C++ that prints the nodes of a view, which is a variable."""
    indent = "  " * (depth + 2)
    count = 0
    for number, node in enumerate(nodes):
        accessor = f"{view}.{node.name}()"
        if node.kind in ("group", "sequence"):
            inner = f"v{depth + 1}"
            out.append(f'{indent}json.{node.kind}("{node.name}", {accessor}, [&](const auto& {inner}) {{')
            if not node.inside:
                out.append(f"{indent}  (void){inner};")
            calls(node.inside, inner, depth + 1, out)
            out.append(f"{indent}}});")
        else:
            out.append(f'{indent}json.{"unicode" if node.kind == "unicode" else "field"}("{node.name}", {accessor});')
        if leaves_block(node) and number + 1 < len(nodes):
            count += 1
            after = f"{view}_{count}"
            out.append(f"{indent}const auto {after} = {view}.after_{node.name}();")
            view = after


def program(templates):
    out = ['#include "feed.hpp"', '#include "tests/system/views/reader.hpp"', "", "struct Printer {", "  reader::Json& json;"]
    for (number, name), nodes in templates.items():
        out += [f"  void operator()(const feed::{name}& v) const {{", "    (void)v;", "    json.object([&] {"]
        out += [f'      json.field("template", std::string_view("{name}"));', f'      json.field("id", {number});']
        out += [f"      static_assert(feed::{name}::kTemplateId == {number});"]
        out += ['      json.out += ",\\"fields\\":";', "      json.object([&] {"]
        calls(nodes, "v", 2, out)
        out += ["      });", "    });", "  }"]
    out += ["};", "", "int main(int, char** argv) { return reader::run<feed::Feed, Printer>(argv[1]); }", ""]
    return "\n".join(out)


def parsed(line):
    return json.loads(line, parse_float=str)


def main(stopbit, sample, scratch, compiler, *rest):
    cut = rest.index("--")
    flags, libraries = rest[:cut], rest[cut + 1 :]
    os.makedirs(scratch, exist_ok=True)
    launcher = [path] if (path := shutil.which("ccache")) else []
    other_ring = None
    for name, framing, templates, capture, lines in feed.cases(sample):
        folder = os.path.join(scratch, name)
        os.makedirs(folder, exist_ok=True)
        trees = feed.templates_of(templates)
        lines = lines or feed.replay(stopbit, framing, templates, capture, "jsonl").decode().splitlines()
        # A program of every template of a large feed takes long to compile: those that occur.
        seen = {(message["id"], message["template"]) for message in map(json.loads, lines)}
        with open(f"{folder}/main.cpp", "w", encoding="utf-8") as text:
            text.write(program({key: tree for key, tree in trees.items() if key in seen}))
        feed.run(stopbit, "gen", "cpp", "--templates", templates, "-o", f"{folder}/feed.hpp")
        feed.run(*launcher, compiler, *flags, "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-c", f"{folder}/main.cpp",
                 "-o", f"{folder}/main.o")
        feed.run(compiler, *flags, f"{folder}/main.o", *libraries, "-o", f"{folder}/main")
        ring = f"{folder}/ring"
        feed.run(stopbit, "replay", capture, "--templates", templates, "--framing", framing, "-q", "--ring", ring)
        printed = feed.run(f"{folder}/main", ring).decode().splitlines()
        if len(printed) != len(lines):
            sys.exit(f"{name}: {len(printed)} messages read, {len(lines)} expected")
        for number, (expected, line) in enumerate(zip(lines, printed), 1):
            if parsed(expected) != parsed(line):
                sys.exit(f"{name}, message {number}:\n  expected {expected}\n  read     {line}")
        if other_ring:
            refused = feed.subprocess.run([f"{folder}/main", other_ring], capture_output=True, check=False)
            if refused.returncode != 2 or b"was generated for records of layout" not in refused.stderr:
                sys.exit(f"{name}: a ring of another feed was not refused: {refused.stderr!r}")
        print(f"{name}: {len(lines)} messages agree")
        if other_ring:
            os.remove(other_ring)
        other_ring = ring
    os.remove(other_ring)


if __name__ == "__main__":
    main(*sys.argv[1:])
