"""A tree of register blocks: addresses, clocks, and which block lies in which."""
import json
import zlib

from registers import description
from registers.text import camel

WINDOW_BITS = 16
MAP_KEYS = {"name", "about"}
BLOCK_KEYS = {"name", "offset", "bytes", "count", "own_clock", "about", "register", "block"}
BUS = "bus"  # the clock of what has none of its own


class Block:
    """A block, `count` times in each instance of its parent, one after the other."""

    def __init__(self, source, entry, parent=None):
        self.parent = parent
        self.name = source.name_of(entry, f"{parent.where}: block" if parent else "block")
        self.path = f"{parent.path}_{self.name}" if parent else self.name
        self.where = f"block {self.path}"
        source.only(entry, self.where, BLOCK_KEYS)
        source.need(entry, self.where, ["offset", "bytes", "about"])
        self.about = entry["about"]
        self.bytes = source.number(entry, self.where, "bytes", 4, 1 << WINDOW_BITS)
        self.count = source.number(entry, self.where, "count", 1, 256) if "count" in entry else 1
        self.offset = source.number(entry, self.where, "offset", 0, (1 << WINDOW_BITS) - 1)
        if self.bytes & (self.bytes - 1):
            raise source.mistake(self.where, f"bytes is {self.bytes:#x}, must be a power of two")
        if self.offset % self.bytes:
            raise source.mistake(self.where, f"offset {self.offset:#x} is not a multiple of its {self.bytes:#x} bytes")
        room = parent.bytes if parent else 1 << WINDOW_BITS
        if self.offset + self.count * self.bytes > room:
            outer = parent.where if parent else "the map"
            raise source.mistake(self.where, f"ends beyond the {room:#x} bytes of {outer}")
        self.has_clock = source.choice(entry, self.where, "own_clock", (True, False)) if "own_clock" in entry else False
        self.blocks = [Block(source, child, self) for child in entry.get("block", [])]
        self.registers = [description.Register(source, child, owner=f"{self.where}: ")
                          for child in entry.get("register", [])]
        self.check(source)

    def check(self, source):
        if not self.registers and not self.blocks:
            raise source.mistake(self.where, "is empty")
        description.check_names(source, self.registers)
        for block in self.blocks:
            if any(other.name == block.name for other in self.blocks if other is not block):
                raise source.mistake(block.where, "its name is taken")
        check_ranges(source, self.blocks)
        description.check_places(source, [(r, r.offset) for r in self.registers], 0, self.bytes, self.where)
        for register in self.registers:
            for block in self.blocks:
                end = block.offset + block.count * block.bytes
                if register.offset < end and block.offset < register.offset + register.bytes:
                    raise source.mistake(register.where, f"{register.offset:#x} belongs to {block.where}, too")
        for suffix, _, _, registers in bundles(self):
            members = bundle_fields(suffix, registers)
            for register, name, _ in members:
                if sum(name == other for _, other, _ in members) > 1:
                    raise source.mistake(register.where, f"'{name}' is needed for another register, too")
        triggers = [r for r in self.registers if r.kind == "command" and r.snapshot]
        held = [r for r in self.registers if r.kind == "counter" and r.snapshot]
        if held and len(triggers) != 1:
            raise source.mistake(held[0].where, "needs one command with snapshot = true in its block")
        if triggers and not held:
            raise source.mistake(triggers[0].where, "there is no counter with snapshot = true in its block")
        for register in held:
            if register.clear:
                raise source.mistake(register.where, "a counter with a snapshot cannot be cleared")

    @property
    def instances(self):
        """Of the whole tree."""
        return self.count * (self.parent.instances if self.parent else 1)

    @property
    def clock(self):
        """The block whose clock it has, or None for the bus's."""
        return self if self.has_clock else self.parent.clock if self.parent else None

    def bases(self):
        """Address of each instance; those of the same parent come one after the other."""
        starts = self.parent.bases() if self.parent else [0]
        return [start + self.offset + i * self.bytes for start in starts for i in range(self.count)]

    def clock_index(self, index):
        """Which instance of its clock the instance `index` belongs to."""
        block = self
        while block is not self.clock:
            index //= block.count
            block = block.parent
        return index

    def instance(self, index):
        return f"{self.path}_{index}" if self.instances > 1 else self.path


def check_ranges(source, blocks):
    placed = sorted(blocks, key=lambda block: block.offset)
    for first, second in zip(placed, placed[1:]):
        if first.offset + first.count * first.bytes > second.offset:
            raise source.mistake(second.where, f"{second.offset:#x} belongs to {first.where}, too")


class Tree:
    def __init__(self, path):
        source = description.Source(path)
        data = source.data
        source.only(data, "the file", {"map", "block"})
        source.need(data, "the file", ["map", "block"])
        source.only(data["map"], "map", MAP_KEYS)
        source.need(data["map"], "map", ["about"])
        self.file = path.name
        self.name = source.name_of(data["map"], "map")
        self.about = data["map"]["about"]
        self.roots = [Block(source, entry) for entry in data["block"]]
        check_ranges(source, self.roots)
        paths = [block.path for block in self.all_blocks()]
        for block in self.all_blocks():
            if paths.count(block.path) > 1:
                raise source.mistake(block.where, "its name is that of another block with its parents' names")
        revision = zlib.crc32(json.dumps(without_about(data), sort_keys=True).encode())
        for block in self.all_blocks():
            for register in block.registers:
                if register.kind != "constant":
                    continue
                if register.value == "revision":
                    register.value = revision
                elif not isinstance(register.value, int) or not 0 <= register.value < 2**32:
                    raise source.mistake(register.where, f"value is {register.value!r}, must be a number of 32 bits or "
                                                         '"revision"')

    def all_blocks(self):
        def walk(blocks):
            for block in blocks:
                yield block
                yield from walk(block.blocks)
        return list(walk(self.roots))

    @property
    def leaves(self):
        """Blocks that have registers of their own."""
        return [block for block in self.all_blocks() if block.registers]

    @property
    def clocks(self):
        """Blocks that bring a clock."""
        return [block for block in self.all_blocks() if block.has_clock]

    @property
    def module(self):
        return f"stopbit_{self.name}_registers"

    def leaf_module(self, block):
        return f"stopbit_{self.name}_{block.path}_registers"


def without_about(value):
    """What software and hardware must agree on: other words for it are no other revision."""
    if isinstance(value, dict):
        return {key: without_about(inner) for key, inner in value.items() if key != "about"}
    if isinstance(value, list):
        return [without_about(inner) for inner in value]
    return value


def bundles(block):
    """Structs between the registers of a block and their unit: (suffix, about, direction, registers)."""
    def of(*kinds):
        return [r for r in block.registers if r.kind in kinds]
    made = (
        ("written", "What the host has written.", "output", of("write")),
        ("command", "What the host writes in this cycle; `_valid` says that it does.", "output",
         of("command", "table")),
        ("shown", "What the unit says.", "input", of("read")),
        ("raised", "Bits that the unit sets.", "input", of("sticky")),
        ("counted", "What the unit counts in this cycle.", "input", of("counter")),
        ("kept", "What the unit writes in this cycle; `_valid` says that it does.", "input", of("kept")),
    )
    return [bundle for bundle in made if bundle[3]]


def bundle_fields(suffix, registers):
    """Members of a packed struct, highest bits first: (register, name, width)."""
    out = []
    for register in registers:
        if suffix in ("command", "kept"):
            out.append((register, f"{register.name}_valid", 1))
        if register.kind == "table":
            out.append((register, f"{register.name}_index", (register.words - 1).bit_length()))
        out.append((register, register.name, register.step if suffix == "counted" else register.width))
    return out


def struct_name(block, suffix):
    return f"{block.path}_{suffix}_t"


__all__ = ["BUS", "Block", "Tree", "bundle_fields", "bundles", "camel", "struct_name"]
