"""Parts of SystemVerilog that register blocks of any kind share."""


def member(register, width=None):
    return f"    logic [{(width or register.width) - 1}:0] {register.name};"


def pulsed_member(register):
    """With a bit that says that it is written now."""
    return f"    logic {register.name}_valid;\n{member(register)}"


def written_bits(width):
    """The lowest bits of what is written."""
    return "write_data_i" if width >= 32 else f"write_data_i[{width - 1}:0]"


def read_lines(register, at, upper, value, target="read_data_o"):
    """Lines of the case by address that answer a read: the upper half of 64 bits is kept for its read."""
    if register.bits == 32:
        return [f"        {at}: {target} <= 32'({value});"]
    high = f"{value}[63:32]" if register.width == 64 else f"32'({value}[{register.width - 1}:32])"
    return [f"        {at}: begin\n          {target} <= {value}[31:0];\n"
            f"          {'kept_q':{len(target)}} <= {high};\n        end",
            f"        {upper}: {target} <= kept_q;"]
