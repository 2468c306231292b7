"""Template files and captures as the tests of views see them: shares nothing with the compiler that is tested."""

import dataclasses
import gzip
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

SKIPPED = 77  # what ctest takes for a skipped test

FRAMINGS = {
    "cme-mdp-2012": "cme",
    "moex-asts-trades-2019": "moex",
    "eurex-rdi-2016": "t7",
    "complex30000": "none",
}


@dataclasses.dataclass
class Node:
    """A field, group or sequence of a template."""

    kind: str  # the XML element: uInt32, decimal, group, sequence, ...
    name: str
    tag: int | None
    optional: bool
    length_name: str | None = None
    length_tag: int | None = None
    inside: list = dataclasses.field(default_factory=list)

    def is_sequence(self):
        return self.kind == "sequence"


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def tag_of(element):
    return int(element.get("id")) if element.get("id") else None


def nodes_of(element):
    nodes = []
    for child in element:
        kind = local(child)
        if kind in ("typeRef", "length", "templateRef"):
            continue
        node = Node(kind, child.get("name"), tag_of(child), child.get("presence") == "optional")
        if kind in ("group", "sequence"):
            node.inside = nodes_of(child)
        for length in child:
            if kind == "sequence" and local(length) == "length":
                node.length_name, node.length_tag = length.get("name"), tag_of(length)
        if kind == "string" and child.get("charset") == "unicode":
            node.kind = "unicode"
        nodes.append(node)
    return nodes


def templates_of(path):
    """Nodes of each template of a FAST 1.1 file, by identifier and name."""
    root = ElementTree.parse(path).getroot()
    templates = {}
    for element in root.iter():
        if local(element) == "template":
            templates[int(element.get("id")), element.get("name")] = nodes_of(element)
    templates.setdefault((120, "FastReset"), [])
    return templates


def cases(sample):
    """Name, framing, templates, capture and expected lines (None: what stopbit prints) of the sample and the corpus."""
    yield "sample", "cme", f"{sample}/templates.xml", f"{sample}/capture.pcap.gz", None
    corpus = os.environ.get("STOPBIT_CORPUS")
    if not corpus:
        print("STOPBIT_CORPUS is not set: only the bundled sample is tested", file=sys.stderr)
        return
    for name, framing in FRAMINGS.items():
        folder = f"{corpus}/{name}"
        with gzip.open(f"{folder}/expected.jsonl.gz", "rt", encoding="utf-8") as lines:
            yield name, framing, f"{folder}/templates.xml", f"{folder}/capture.pcap", lines.read().splitlines()


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def replay(stopbit, framing, templates, capture, form):
    return run(stopbit, "replay", capture, "--templates", templates, "--framing", framing, "--format", form, "-q")
