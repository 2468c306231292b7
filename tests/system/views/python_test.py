"""The module of `stopbit gen python` gives every value of every capture as the lines have it, and refuses the columns of
other templates. Modules of hostile, projected and referring templates can be imported.

usage: python_test.py STOPBIT SAMPLE_FOLDER SCRATCH_FOLDER SOURCE_FOLDER        PYTHONPATH has the module stopbit
"""

import dataclasses
import decimal
import importlib.util
import json
import os
import sys

import feed

try:
    import numpy

    import stopbit
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(feed.SKIPPED)


def made(program, templates, folder, name, *more):
    """The module, imported."""
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/{name}.py"
    feed.run(program, "gen", "python", "--templates", templates, "-o", path, *more)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def tables_of(module):
    return [item for item in vars(module).values() if isinstance(item, type) and dataclasses.is_dataclass(item)]


class Reader:
    """Messages again, from typed rows."""

    def __init__(self, module, tables):
        self.made = {kind.TABLE: kind.of(tables) for kind in tables_of(module)}
        self.nodes = {}

    def value(self, row, key, node):
        column = key.replace(".", "_")
        if node.kind == "decimal":
            return decimal.Decimal(int(getattr(row, column + "_mantissa"))).scaleb(int(getattr(row, column + "_exponent")))
        value = getattr(row, column)
        if node.kind == "string":
            return value.decode("latin-1") if isinstance(value, bytes) else bytes(value).decode("latin-1")
        if node.kind == "unicode":
            return value.decode("utf-8", "replace")
        return bytes(value).hex() if node.kind == "byteVector" else int(value)

    def fields(self, row, number, nodes, path, prefix=""):
        out = {}
        for node in nodes:
            key = prefix + node.name
            present = getattr(row, key.replace(".", "_") + "_present", True)
            if not present:
                continue
            if node.kind == "group":
                out[node.name] = self.fields(row, number, node.inside, path, key + ".")
            elif node.kind == "sequence":
                elements = self.made[f"{path}/{key}"]
                inner = elements.of_parent(number)
                first = int(numpy.searchsorted(elements.parent, number))
                assert len(inner) == getattr(row, key.replace(".", "_")), (path, key)
                out[node.name] = [self.fields(element, first + i, node.inside, f"{path}/{key}")
                                  for i, element in enumerate(inner)]
            else:
                out[node.name] = self.value(row, key, node)
        return out


def expected(line):
    return json.loads(line, parse_float=decimal.Decimal)


def main(program, sample, scratch, source):
    for name in ("rich", "references", "projected"):
        more = ["--fields", "First,Deep,Behind,InG,InH,NoCounted,Constant,Last"] if name == "projected" else []
        assert tables_of(made(program, f"{source}/tests/unit/templates/emit/{name}.xml", scratch, name, *more))
    for name, framing, templates, capture, lines in feed.cases(sample):
        module = made(program, templates, scratch, name.replace("-", "_"))
        tables = stopbit.columns(capture, templates=templates, framing=framing)
        lines = lines or feed.replay(program, framing, templates, capture, "jsonl").decode().splitlines()
        trees = {name: nodes for (_, name), nodes in feed.templates_of(templates).items()}
        reader = Reader(module, tables)
        rows = {}
        for line in lines:
            message = expected(line)
            kind = message.get("template")
            if kind is None:
                continue
            number = rows[kind] = rows.get(kind, -1) + 1
            read = reader.fields(reader.made[kind][number], number, trees[kind], kind)
            if read != message["fields"]:
                sys.exit(f"{name}, row {number} of {kind}:\n  expected {message['fields']}\n  read     {read}")
        for kind, last in rows.items():
            assert len(reader.made[kind]) == last + 1, kind
        if name == "sample":
            check_sample(module, tables)
        print(f"{name}: {sum(rows.values()) + len(rows)} messages agree")


def check_sample(module, tables):
    trades = module.Trade.of(tables)
    dear = trades[trades.LastPrice > numpy.median(trades.LastPrice)]
    assert 0 < len(dear) < len(trades) and dear.Symbol[0] in set(trades.Symbol)
    assert [row.TradeID for row in dear] == list(dear.TradeID)
    assert len(module.Trade.of({})) == 0 and module.Trade.of({}).LastSize.dtype == numpy.uint32
    for wrong in ({"Trade": {}}, {"Trade": {**tables["Trade"], "LastSize": tables["Trade"]["LastPrice"]}}):
        try:
            module.Trade.of(wrong)
        except ValueError as error:
            assert "other templates" in str(error), error
        else:
            sys.exit("columns of other templates were taken")


if __name__ == "__main__":
    main(*sys.argv[1:])
