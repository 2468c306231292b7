"""Writes copies of sources with faults that a switch puts in (mutant.hpp), for programs of mutants.

Each fault, (number, name, before, after), replaces one expression or statement of one of the sources; one that no longer
fits is listed as such, and the test fails. Copies are in the folder under the path that others include them by.
"""
import pathlib


def switched(number: int, before: str, after: str) -> str:
    """The text with the fault beside it. One that needs another form has the switch, ON, in its own text."""
    switch = f"(::stopbit::cases::mutant == {number})"
    if "ON" in after:
        return after.replace("ON", switch)
    if before.rstrip().endswith(";"):
        return f"{{ if {switch} {{ {after} }} else {{ {before} }} }}"
    return f"({switch} ? ({after}) : ({before}))"


def write(to_list, to_folder, sources, mutants, others=(), rare=None) -> None:
    """`others`: rows of faults that are not in the sources. `rare`: from which seed on a fault shows."""
    texts = {source: open(source, encoding="utf-8").read() for source in sources}
    rows = list(others)
    edits = {}  # (source, place): those who share a place are chained
    for number, name, before, after in mutants:
        found = [source for source, text in texts.items() if before in text]
        fits = len(found) == 1 and texts[found[0]].count(before) == 1
        rows.append((number, name, fits))
        if fits:
            edits.setdefault((found[0], texts[found[0]].find(before)), []).append((number, before, after))
    for (source, at), here in sorted(edits.items(), reverse=True):
        before = max((old for _, old, _ in here), key=len)
        new = before
        for number, _, after in here:
            new = switched(number, new, after)
        text = texts[source]
        texts[source] = text[:at] + new + text[at + len(before):]
    for source, text in texts.items():
        path = pathlib.Path(source)
        to = pathlib.Path(to_folder, *path.parts[-4:])  # host/feed/arbitrate/NAME
        to.parent.mkdir(parents=True, exist_ok=True)
        start = text.find("#include")
        to.write_text(text[:start] + '#include "tests/lib/mutant.hpp"\n' + text[start:], encoding="utf-8")
    with open(to_list, "w", encoding="utf-8") as out:
        out.write("".join(f'{{{number}, "{name}", {str(fits).lower()}, {(rare or {}).get(number, 1)}}},\n'
                          for number, name, fits in sorted(rows)))
