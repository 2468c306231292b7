#!/usr/bin/env python3
"""Every program and library that is installed, by readelf: position independent, full RELRO with immediate binding, no
executable stack, no writable code, CET, stack protection and fortified libc calls, no run path, and no path of the
machine that built it.

    hardened.py BUILD_FOLDER SOURCE_FOLDER [FILE...]       all that BUILD_FOLDER installs, or these files; 77: no readelf
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

ENDBR64 = bytes.fromhex("f30f1efa")
# Too small to have a buffer on the stack, or a libc call with a size that the compiler knows.
NO_STACK_BUFFER = {"stopbit-fabric"}


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}).stdout


@functools.cache
def toolchain_has_cet():
    """The linker marks a program only if all of it is marked. Debian 12's own start files are not."""
    path = subprocess.run(["gcc", "-print-file-name=crti.o"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    return "IBT" in readelf("-n", path)


def faults_of(path, source):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        content = file.read()
    head, segments, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    symbols, notes = readelf("--dyn-syms", path), readelf("-n", path)
    is_program = "Requesting program interpreter" in segments
    found = {
        "not position independent": "Type:" in head and " DYN " not in head,
        "not a PIE": is_program and "PIE" not in dynamic,
        "no RELRO": "GNU_RELRO" not in segments,
        "no immediate binding": "BIND_NOW" not in dynamic and not re.search(r"FLAGS_1.*NOW", dynamic),
        "executable stack": not re.search(r"GNU_STACK\s+(\S+\s+){5}RW\s", segments),
        "memory both writable and executable": bool(re.search(r"LOAD\s.*\bRWE\b", segments)),
        "code that can be written to by the loader": "TEXTREL" in dynamic,
        "run path": "RPATH" in dynamic or "RUNPATH" in dynamic,
        "code that is not made for CET": content.count(ENDBR64) < 20,
        "no CET": toolchain_has_cet() and ("IBT" not in notes or "SHSTK" not in notes),
        "no stack protection": "__stack_chk_fail" not in symbols and name not in NO_STACK_BUFFER,
        "no fortified calls": not re.search(r"_chk@", symbols.replace("__stack_chk_fail@", "")),
    }
    faults = [what for what, is_so in found.items() if is_so]
    for folder in source:
        at = content.find(folder.encode())
        if at >= 0:
            text = re.match(rb"[\x20-\x7e]*", content[at:at + 200]).group().decode()
            faults.append(f"path of the build: {text}")
    return faults


def main():
    if shutil.which("readelf") is None:
        print("skipped: there is no readelf")
        return 77
    build, source = (os.path.abspath(path) for path in sys.argv[1:3])
    paths = sys.argv[3:]
    with tempfile.TemporaryDirectory() as prefix:
        if not paths:
            subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True, env={**os.environ, "DESTDIR": prefix},
                           stdout=subprocess.DEVNULL)
            for folder, _, names in os.walk(prefix):
                for name in names:
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        if not os.path.islink(path) and file.read(4) == b"\x7fELF":
                            paths.append(path)
        wrong = 0
        for path in sorted(paths):
            faults = faults_of(path, [build + "/", source + "/"])
            wrong += bool(faults)
            print(f"{os.path.basename(path)}: {'; '.join(faults) or 'good'}")
    print(f"{len(paths)} programs and libraries, {wrong} wrong")
    assert paths, "nothing is installed"
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
