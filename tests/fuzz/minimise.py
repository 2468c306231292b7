#!/usr/bin/env python3
"""Takes out kept inputs that take no branch which the others do not: tests/fuzz/minimise.py [TARGET...]

Candidates are inputs of libFuzzer (found-*, and those named by their hash) and those from tests/cases, new ones of
these included; inputs that a person named stay. Wants `./dev fuzz --short` before, which builds the targets, and
stopbit_fuzz_seeds of the preset release.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FROM_LIBFUZZER = re.compile(r"found-\d+|[0-9a-f]{40}")


def content(path):
    return hashlib.sha1(path.read_bytes()).hexdigest()


def minimise(target, seeds):
    kept = HERE / "corpus" / target
    named = {path.name for path in kept.iterdir() if not FROM_LIBFUZZER.fullmatch(path.name)}
    from_cases = {path.name for path in seeds.iterdir()} if seeds.is_dir() else set()
    before = len(list(kept.iterdir()))
    with tempfile.TemporaryDirectory() as chosen:
        subprocess.run(
            [ROOT / "build/fuzz/bin" / target, "-set_cover_merge=1", "-use_counters=0", chosen, kept]
            + ([seeds] if seeds.is_dir() else []),
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = {content(path) for path in pathlib.Path(chosen).iterdir()}
    for path in list(kept.iterdir()):
        if (path.name not in named or path.name in from_cases) and content(path) not in wanted:
            path.unlink()
    have = {content(path) for path in kept.iterdir()}
    for path in seeds.iterdir() if seeds.is_dir() else ():
        if content(path) in wanted - have:
            shutil.copy(path, kept / path.name)
    print(f"{target}: {before} -> {len(list(kept.iterdir()))}", flush=True)


def main():
    targets = sys.argv[1:] or sorted(path.name for path in (HERE / "corpus").iterdir())
    with tempfile.TemporaryDirectory() as seeds:
        subprocess.run([ROOT / "build/release/bin/stopbit_fuzz_seeds", ROOT / "tests/cases", seeds], check=True)
        for target in targets:
            minimise(target, pathlib.Path(seeds) / target)


if __name__ == "__main__":
    main()
