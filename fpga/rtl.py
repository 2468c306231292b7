"""The files of fpga/rtl: which there are, and which of them a module is made of."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent
RTL = ROOT / "rtl"


def sources():
    """Packages in the order in which they are read, then modules."""
    packages = sorted((RTL / "pkg").glob("**/*.sv"), key=lambda path: path.name)
    modules = sorted(path for path in RTL.glob("*/*.sv") if path.parent.name != "pkg")
    return packages + modules


def needed(top):
    """The files that `top` is made of, which may be a bench's: packages that are named, and modules, each by its name."""
    by_name = {path.stem: path for path in sources()}
    if top not in by_name:
        by_name[top] = next(ROOT.glob(f"sim/*/chain/{top}.sv"))
    found, todo = set(), [top]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        text = re.sub(r"//.*", "", by_name[name].read_text())
        todo += [word for word in set(re.findall(r"\bstopbit_\w+", text)) if word in by_name]
    return [path for path in sources() if path.stem in found]
