"""A decoder of Simple Binary Encoding that knows only a schema, and what the fields of a market event mean as event.md
says: it shares nothing with the program that writes the messages.
"""

import decimal
import re
import struct
import xml.etree.ElementTree as ElementTree

SBE = "{http://fixprotocol.io/2016/sbe}"
FORMATS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}


class Type:
    """Of an element `type`: integers, or a text of fixed length."""

    def __init__(self, primitive, length=1, null=None, encoding=None):
        self.format = f"<{length}s" if primitive == "char" else "<" + FORMATS[primitive]
        self.size = struct.calcsize(self.format)
        self.null, self.encoding = null, encoding

    def read(self, data, offset):
        (value,) = struct.unpack_from(self.format, data, offset)
        if self.encoding:
            return value.rstrip(b"\0").decode(self.encoding)
        return None if value == self.null else value


class Enum(Type):
    def __init__(self, primitive, names):
        super().__init__(primitive)
        self.names = names

    def read(self, data, offset):
        return self.names[super().read(data, offset)]


class Set(Type):
    def __init__(self, primitive, names):
        super().__init__(primitive)
        self.names = names

    def read(self, data, offset):
        bits = super().read(data, offset)
        assert bits >> len(self.names) == 0, bits
        return [name for bit, name in sorted(self.names.items()) if bits >> bit & 1]


class Schema:
    """Messages of fixed length, without groups and variable data."""

    def __init__(self, text):
        root = ElementTree.fromstring(text)
        assert root.tag == SBE + "messageSchema" and root.get("byteOrder") == "littleEndian", root.attrib
        self.id, self.version = int(root.get("id")), int(root.get("version"))
        self.types = {name: Type(name) for name in FORMATS}
        self.header = []
        for element in root.find("types"):
            name = element.get("name")
            if element.tag == "type":
                null = int(element.get("nullValue")) if element.get("presence") == "optional" else None
                made = Type(element.get("primitiveType"), int(element.get("length", 1)), null, element.get("characterEncoding"))
            elif element.tag == "enum":
                made = Enum(element.get("encodingType"), {int(value.text): value.get("name") for value in element})
            elif element.tag == "set":
                made = Set(element.get("encodingType"), {int(value.text): value.get("name") for value in element})
            else:
                assert element.tag == "composite" and name == "messageHeader", element.tag
                self.header = [(part.get("name"), Type(part.get("primitiveType"))) for part in element]
                continue
            assert name not in self.types, name
            self.types[name] = made
        self.messages = {}
        for message in root.findall(SBE + "message"):
            fields = [(field.get("name"), self.types[field.get("type")]) for field in message]
            identifiers = [field.get("id") for field in message]
            assert len(set(identifiers)) == len(identifiers) and all(field.tag == "field" for field in message)
            length = int(message.get("blockLength"))
            assert length == sum(made.size for _, made in fields), "the fields do not fill the block"
            self.messages[int(message.get("id"))] = (message.get("name"), length, fields)

    @staticmethod
    def read_fields(fields, data, offset):
        result = {}
        for name, made in fields:
            result[name] = made.read(data, offset)
            offset += made.size
        return result

    def decode(self, data):
        """(name, {field: value}) of each message."""
        offset = 0
        size = sum(made.size for _, made in self.header)
        while offset < len(data):
            header = self.read_fields(self.header, data, offset)
            assert (header["schemaId"], header["version"]) == (self.id, self.version), header
            name, length, fields = self.messages[header["templateId"]]
            assert header["blockLength"] == length, header
            offset += size
            assert offset + length <= len(data), "the last message is cut"
            yield name, self.read_fields(fields, data, offset)
            offset += length


def snake(name):
    """As a JSON line has it: delete_top of DeleteTop."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def line_of(event, schema):
    """The JSON line of an event's fields."""

    def name(list_name, value):
        return snake(schema.types[list_name].names[value])

    kind, level, number = snake(event["kind"]), event["level"], event["id"]
    line = {"event": kind, "channel": event["channel"], "sequence": event["sequence"], "time": event["arrival_ns"],
            "instrument": event["key"] or event["instrument"]}
    if event["side"] != "NoSide":
        line["side"] = snake(event["side"])
    # Of stale and suspect the same bit says that the number is a message of the channel.
    is_implied, is_doubt = event["is_implied"] == "True", kind in ("stale", "suspect")
    if is_implied and not is_doubt:
        line["book"] = "implied"
    if kind == "statistic":
        line["statistic"] = name("Statistic", level)
    elif kind in ("stale", "suspect"):
        line["cause"] = name("Cause", level)
    elif level != 0:
        line["level"] = level
    if event["price"] is not None:
        line["price"] = decimal.Decimal(event["price"]).scaleb(-9)
    if event["quantity"] is not None:
        line["quantity"] = decimal.Decimal(event["quantity"]).scaleb(-event["quantity_decimals"])
    if event["delay_ns"] is not None:
        line["delay"] = event["delay_ns"]
    if kind == "state":
        line |= {"state": name("TradingState", number & 0xFF), "code": number >> 8 & 0xFFFFFFFF, "scale": number >> 40 & 0xFF}
    elif kind == "clear":
        line["cause"] = name("Cause", number)
    elif kind in ("stale", "suspect", "latest", "snapshot_end"):
        line["number"] = number
        if is_implied and is_doubt:
            line["counts"] = "messages"
    elif number != 0 and not (number == 1 << 63 and kind in ("new", "change", "delete", "overlay", "delete_top",
                                                            "delete_bottom", "delete_side")):
        line["id"] = number
    if event["flags"]:
        line["flags"] = event["flags"]
    return line
