"""Text that all outputs of a description share, and the files that it is kept in."""
import textwrap


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def comment(about):
    """Lines of a C++ comment."""
    return textwrap.wrap(about.replace("`", ""), 120, initial_indent="/// ", subsequent_indent="/// ")


def cpp_constant(register):
    """Offset and fields of a register, as constants of a C++ header."""
    out = comment(register.about)
    out.append(f"inline constexpr std::uint32_t k{camel(register.name)} = 0x{register.offset:03X};")
    for field in register.fields:
        name = f"k{camel(register.name)}{camel(field['name'])}"
        out += comment(field["about"])
        if field.get("width", 1) == 1:
            out.append(f"inline constexpr std::uint32_t {name} = 1U << {field['bit']};")
        else:
            out.append(f"inline constexpr std::uint32_t {name}Shift = {field['bit']};")
    return out


def page_table(registers):
    """Registers and fields as a table of a page."""
    rows = ["", "| offset | bits | name | kind | meaning |", "|---:|---:|---|---|---|"]
    for r in registers:
        rows.append(f"| 0x{r.offset:03x} | {r.bits} | `{r.name}` | {r.kind} | {r.about} |")
        for field in r.fields:
            last = field["bit"] + field.get("width", 1) - 1
            bits = f"bit {field['bit']}" if last == field["bit"] else f"bits {last} to {field['bit']}"
            rows.append(f"| | | · `{field['name']}` | {bits} | {field['about']} |")
    return rows


def keep(root, texts, checks):
    """Writes the files that are not current, by name below `root`; only says which, if it `checks`.

    True if all were.
    """
    stale = []
    for name, text in texts.items():
        path = root / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not checks:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for name in stale:
        print(f"{'not current' if checks else 'written'}: {name}")
    return not stale
