"""The table of longest paths, `rows.md`: a row for each module, which holds for the RTL whose hash it carries.

A row whose RTL has changed must be measured again, and may grow only with a reason.
"""

import dataclasses
import hashlib
import pathlib
import re

import rtl
from timing import paths

TABLE = pathlib.Path(__file__).resolve().parent / "rows.md"
COLUMNS = ((paths.REGISTER, paths.REGISTER), (paths.PORT, paths.REGISTER), (paths.REGISTER, paths.PORT),
           (paths.PORT, paths.PORT))
ROUNDING = 0.005  # of the ns in the table


@dataclasses.dataclass
class Row:
    """`figures`: ns and most levels of each column, None where there is no such path."""
    module: str
    parameters: str
    digest: str
    figures: list
    path: str
    reason: str = ""

    @property
    def key(self):
        return f"{self.module} {self.parameters}".strip()

    def text(self):
        cells = ["" if figure is None else f"{figure[0]:.2f}, {figure[1]}" for figure in self.figures]
        clocked = [figure[0] for figure in self.figures[:1] if figure]
        clocks = [f"{1000 / (ns * factor):.0f}" for ns in clocked for factor in paths.FACTORS] or ["", ""]
        return "| " + " | ".join([f"`{self.key}`", *cells, *clocks, self.path, self.reason, f"`{self.digest}`"]) + " |"


def digest(module):
    """Of the RTL that the module is made of, without comments and white space."""
    text = "".join(f"{path.name}\n{path.read_text()}\n" for path in rtl.needed(module))
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return hashlib.sha256(re.sub(r"\s+", " ", text).encode()).hexdigest()[:12]


def measured(module, parameters, netlist):
    longest, levels = netlist.longest()
    figures = [(round(longest[key].ns, 2), levels[key]) if key in longest else None for key in COLUMNS]
    whole = longest.get(COLUMNS[0])
    return Row(module, parameters, digest(module), figures, f"{plain(whole.begin)} to {plain(whole.end)}" if whole else "")


def plain(name):
    """A name for the table: the shortest that reads the same after another run of yosys."""
    return f"`{re.sub(r'[|`]', '', name)}`" if "$" not in name else "a cell without a name"


def read_table():
    rows = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != len(COLUMNS) + 6 or not cells[0].startswith("`stopbit_"):
            continue
        figures = []
        for cell in cells[1:1 + len(COLUMNS)]:
            ns, _, levels = cell.partition(",")
            figures.append((float(ns), int(levels)) if cell else None)
        module, _, parameters = cells[0].strip("`").partition(" ")
        path, reason, hashed = cells[-3:]
        row = Row(module, parameters, hashed.strip("`"), figures, path, reason)
        rows[row.key] = row
    return rows


def growth(old, new):
    """What became longer, in words."""
    grown = []
    for (begin, end), before, after in zip(COLUMNS, old.figures, new.figures):
        if after and not before:
            grown.append(f"{begin} to {end}: no such path before, {after[0]:.2f} ns and {after[1]} levels now")
        if after and before and (after[0] > before[0] + ROUNDING or after[1] > before[1]):
            grown.append(f"{begin} to {end}: {before[0]:.2f} ns and {before[1]} levels before, "
                         f"{after[0]:.2f} ns and {after[1]} now")
    return grown


def out_of_date(rows, wanted):
    """What is wrong with the table for the modules `wanted`, in words."""
    wrong = []
    for module, parameters in wanted:
        key = f"{module} {parameters}".strip()
        if key not in rows:
            wrong.append(f"{key}: has no row")
        elif rows[key].digest != digest(module):
            wrong.append(f"{key}: its RTL has changed since its row was measured")
    return wrong + [f"{key}: is in the table, but not measured any more"
                    for key in rows if key not in {f"{module} {parameters}".strip() for module, parameters in wanted}]


HEAD = """# Longest paths of the RTL

Made by `./dev synth --timing --record`; a test compares the hashes. Each cell: ns of the model in `paths.py`, and the
most LUT levels. The clocks are estimates of the longest path between registers, in MHz, by the factors 0.45 and 0.65.
Each row is a module flattened with everything in it. `reason` is why a row last grew.

| module | register to register | port to register | register to port | port to port | MHz, 0.45 | MHz, 0.65 | longest \
between registers | reason | hash of the RTL |
|---|---|---|---|---|---|---|---|---|---|
"""


def write_table(rows):
    TABLE.write_text(HEAD + "".join(f"{rows[key].text()}\n" for key in sorted(rows)))
