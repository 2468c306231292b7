#!/usr/bin/env python3
"""Makes everything that knows the register trees of TREES from their descriptions.

usage: generate.py [--check]

Writes files that are kept in the repository; with --check says which are not current (exit 1).
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent))

from registers import text, tree_rtl, tree_text  # noqa: E402
from registers.description import Mistake  # noqa: E402
from registers.tree import Tree  # noqa: E402

TREES = ("network",)


def outputs(tree):
    """The files of a tree: their text by name."""
    note = f"Made by fpga/registers/generate.py from {tree.file}: change that."
    page = f"fpga/registers/generated/{tree.name}.md"
    made = {
        f"fpga/rtl/pkg/generated/{tree.module}_pkg.sv": tree_rtl.package(tree, note),
        f"fpga/rtl/generated/{tree.module}.sv": tree_rtl.whole(tree, note),
        f"host/device/generated/{tree.name}_registers.hpp": tree_text.header(tree, note, page),
        f"fpga/sim/registers/generated/{tree.name}_wires.hpp": tree_text.wires(tree, note),
        page: tree_text.page(tree, note),
    }
    for block in tree.leaves:
        made[f"fpga/rtl/generated/{tree.leaf_module(block)}.sv"] = tree_rtl.leaf(tree, block, note)
    return made


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    try:
        trees = [Tree(FOLDER / f"{name}.toml") for name in TREES]
    except Mistake as mistake:
        sys.exit(str(mistake))
    current = [text.keep(ROOT, outputs(tree), bool(arguments)) for tree in trees]
    return 1 if arguments and not all(current) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
