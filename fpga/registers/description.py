"""A description of registers, read from a TOML file and checked.

A mistake in it is a `Mistake`, whose text names the file and the register.
"""
import re
import tomllib

WORD_BYTES = 4
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# Each kind with the keys that only it has.
KINDS = {
    "constant": {"value"},
    "read": set(),
    "kept": set(),
    "write": {"pointer"},
    "command": {"snapshot"},
    "sticky": set(),
    "counter": {"step", "saturates", "clear", "snapshot"},
    "table": {"words"},
}
# Names of blocks become namespaces and parts of modules, those of registers members of structs.
RESERVED = set("""
alignas alignof and asm assert assign assume auto before begin bind bins binsof bit bool break buf byte case cast
catch cell char checker class clocking concept config const constexpr continue cover cross deassign decltype default
define delete disable dist do double edge else end enum event expect explicit export extends extern false final first
for force foreach forever fork friend function generate global goto if iff import in initial inline inout input inside
instance int integer interface intersect join large let local logic long macromodule matches medium module mutable
namespace nand negedge new nor not null operator or output package packed parameter posedge primitive priority private
process program property protected pull pure rand real reg register release repeat requires restrict return scalared
sequence short signed sizeof small solve static strong struct super supply switch table tagged task template this
throw time tri true try type typedef typeid typename union unique unsigned until use using var vectored virtual void
volatile wait wand weak while wildcard wire with within wor xor
""".split())
WIDE_KINDS = {"read", "write", "counter"}  # may have 64 bits
COMMON_KEYS = {"name", "offset", "bits", "width", "kind", "about", "fields"}
FIELD_KEYS = {"name", "bit", "width", "about"}


class Mistake(Exception):
    """Text: file, register, and what is wrong."""


class Source:
    """The file that a description is read from, for the text of mistakes."""

    def __init__(self, path):
        self.name = path.name
        try:
            with open(path, "rb") as file:
                self.data = tomllib.load(file)
        except OSError as error:
            raise Mistake(f"{self.name}: cannot be read: {error.strerror}") from error
        except tomllib.TOMLDecodeError as error:
            raise Mistake(f"{self.name}: {error}") from error

    def mistake(self, where, text):
        return Mistake(f"{self.name}: {where}: {text}")

    def need(self, entry, where, keys):
        for key in keys:
            if key not in entry:
                raise self.mistake(where, f"has no {key}")

    def only(self, entry, where, keys):
        for key in entry:
            if key not in keys:
                raise self.mistake(where, f"'{key}' is not known here")

    def name_of(self, entry, what, is_whole=True):
        """`is_whole`: the code has that name; if not, only longer ones that contain it."""
        name = entry.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self.mistake(what, f"name {name!r} must be lower-case words joined by '_'")
        if is_whole and name in RESERVED:
            raise self.mistake(f"{what} {name}", "its name is a word of C++ or SystemVerilog")
        return name

    def number(self, entry, where, key, low, high):
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.mistake(where, f"{key} is {value!r}, must be a number from {low} to {high}")
        return value

    def choice(self, entry, where, key, allowed):
        value = entry[key]
        if value not in allowed:
            raise self.mistake(where, f"{key} is {value!r}, must be one of {', '.join(map(str, allowed))}")
        return value


class Register:
    """One register of a block, or of each instance of a group: its offset is from there."""

    def __init__(self, source, entry, owner="", group=None, kinds=tuple(KINDS)):
        self.name = source.name_of(entry, f"{owner}register")
        self.group = group
        where = f"{owner}register {self.full_name}"
        self.where = where
        source.need(entry, where, ["offset", "bits", "kind", "about"])
        self.kind = source.choice(entry, where, "kind", kinds)
        source.only(entry, where, COMMON_KEYS | KINDS[self.kind])
        self.bits = source.choice(entry, where, "bits", (32, 64))
        self.offset = source.number(entry, where, "offset", 0, 2**32 - 1)
        self.about = entry["about"]
        self.value = entry.get("value", 0)
        self.pointer = entry.get("pointer", False)
        self.saturates = entry.get("saturates", False)
        self.snapshot = entry.get("snapshot", False)
        self.clear = source.choice(entry, where, "clear", ("read", "write")) if "clear" in entry else ""
        self.step = source.number(entry, where, "step", 1, 32) if "step" in entry else 1
        self.words = 1
        if self.offset % (self.bits // 8) != 0:
            raise source.mistake(where, f"offset {self.offset:#x} is not a multiple of its {self.bits // 8} bytes")
        if self.bits == 64 and self.kind not in WIDE_KINDS:
            raise source.mistake(where, f"a {self.kind} register has 32 bits")
        if self.kind == "table":
            source.need(entry, where, ["words"])
            self.words = source.number(entry, where, "words", 2, 2**14)
            if self.words & (self.words - 1) or self.offset % self.bytes:
                raise source.mistake(where, "a table has a power of two of words, and an offset that is a multiple of "
                                            "its bytes")
        self.fields = entry.get("fields", [])
        self.read_fields(source, where)
        used = max((f["bit"] + f.get("width", 1) for f in self.fields), default=self.bits)
        self.width = source.number(entry, where, "width", 1, self.bits) if "width" in entry else used
        if used > self.width and self.fields:
            raise source.mistake(where, f"its fields need {used} bits, it has {self.width}")
        if self.bits == 64 and self.width <= 32:
            raise source.mistake(where, f"has {self.width} bits: 32 are enough for it")
        if self.step > self.width:
            raise source.mistake(where, f"counts in steps of {self.step} bits, it has {self.width}")

    def read_fields(self, source, where):
        taken = 0
        for field in self.fields:
            source.name_of(field, f"{where}: field", is_whole=False)
            at = f"{where}: field {field['name']}"
            source.only(field, at, FIELD_KEYS)
            source.need(field, at, ["bit", "about"])
            low = source.number(field, at, "bit", 0, self.bits - 1)
            width = source.number(field, at, "width", 1, self.bits - low) if "width" in field else 1
            mask = (1 << width) - 1 << low
            if taken & mask:
                raise source.mistake(at, "its bits belong to another field, too")
            taken |= mask
        names = [field["name"] for field in self.fields]
        if len(set(names)) != len(names):
            raise source.mistake(where, "two of its fields have the same name")

    @property
    def bytes(self):
        return self.words * self.bits // 8

    @property
    def full_name(self):
        return f"{self.group['name']}_{self.name}" if self.group else self.name


def check_places(source, placed, first, end, room):
    """Each (register, address) has its words from `first` below `end` for itself."""
    taken = {}
    for register, address in placed:
        for word in range(address, address + register.bytes, WORD_BYTES):
            if word < first or word >= end:
                raise source.mistake(register.where, f"{word:#x} is outside of {room}, {first:#x} to {end - 1:#x}")
            if word in taken and taken[word] is not register:
                raise source.mistake(register.where, f"{word:#x} belongs to {taken[word].where}, too")
            if word in taken:
                raise source.mistake(register.where, f"its instances overlap at {word:#x}")
            taken[word] = register


def check_names(source, registers):
    seen = set()
    for register in registers:
        if register.full_name in seen:
            raise source.mistake(register.where, "its name is taken")
        seen.add(register.full_name)
