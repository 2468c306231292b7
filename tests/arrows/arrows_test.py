#!/usr/bin/env python3
"""What includes what: each #include of ours has to be an arrow that rooms.txt allows, and the arrows have no cycle.

    arrows_test.py SOURCE_FOLDER [--print]          --print: today's arrows, in the form of rooms.txt
"""

import collections
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+/[^"]+)"', re.MULTILINE)
SOURCES = {".c", ".h", ".cpp", ".hpp", ".def"}


def read_rooms(path):
    """Rooms in their order, and what each may include."""
    rooms = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        room, colon, others = line.partition(":")
        if not colon or room.strip() in rooms:
            sys.exit(f"{path}:{number}: expected 'room: room...', each room once")
        rooms[room.strip()] = set(others.split())
    for room, others in rooms.items():
        for other in others - rooms.keys():
            sys.exit(f"{path}: '{room}' may include '{other}', which is no room")
    return rooms


def room_of(name, rooms):
    """The longest room that a path lies in."""
    parts = name.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in rooms:
            return "/".join(parts[:length])
    return None


def sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(root)) for top in ("microcode", "assembler", "templates", "decoder", "host", "fpga", "tests", "bench")
        for path in (root / top).rglob("*")]
    return [name for name in names if pathlib.PurePath(name).suffix in SOURCES and "/corpus/" not in name]


def arrows(root, rooms):
    """(room, other room) to the includes that make it; files that lie in no room."""
    found, homeless = collections.defaultdict(list), []
    for name in sources(root):
        path = root / name
        if not path.is_file():
            continue
        room = room_of(name, rooms)
        if room is None:
            homeless.append(name)
            continue
        text = path.read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            other = room_of(match.group(1), rooms)
            if other is not None and other != room:
                line = text.count("\n", 0, match.start(1)) + 1
                found[room, other].append(f'{name}:{line}: includes "{match.group(1)}"')
    return found, homeless


def cycle(rooms):
    """A cycle of the allowed arrows, or nothing."""
    state = {}

    def walk(room, way):
        state[room] = "open"
        for other in sorted(rooms[room]):
            if state.get(other) == "open":
                return way[way.index(other):] + [other] if other in way else [room, other]
            if other not in state:
                found = walk(other, way + [other])
                if found:
                    return found
        state[room] = "done"
        return None

    for room in rooms:
        if room not in state:
            found = walk(room, [room])
            if found:
                return found
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    rooms = read_rooms(pathlib.Path(__file__).resolve().parent / "rooms.txt")
    found, homeless = arrows(root, rooms)
    if "--print" in sys.argv:
        for room in rooms:
            print(f"{room}:", *sorted(other for (source, other) in found if source == room))
        return 0
    problems = [f"{name}: lies in no room of rooms.txt" for name in homeless]
    for (room, other), places in sorted(found.items()):
        if other not in rooms[room]:
            problems += [f"{place}, but '{room}' may not include '{other}'" for place in places]
    loop = cycle(rooms)
    if loop:
        problems.append("rooms.txt allows a cycle: " + " -> ".join(loop))
    print("\n".join(problems) or f"{len(found)} arrows between {len(rooms)} rooms, each allowed, and no cycle")
    unused = sorted(f"{room}: {other}" for room in rooms for other in rooms[room] if (room, other) not in found)
    if unused:
        print("not used any more, delete them: " + ", ".join(unused))
    return 1 if problems or unused else 0


if __name__ == "__main__":
    sys.exit(main())
