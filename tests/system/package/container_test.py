#!/usr/bin/env python3
"""Looks at the Containerfile: stages, what they copy, and that its command is in the package that it installs. No image
is built here: that needs a builder and a base from a registry.

    container_test.py CONTAINERFILE PACKAGE.deb...
"""

import fnmatch
import json
import os
import re
import subprocess
import sys

WORDS = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "CMD"}


def read(path):
    lines = [line for line in open(path, encoding="utf-8").read().replace("\\\n", " ").splitlines()
             if line and not line.startswith("#")]
    for line in lines:
        word, rest = line.split(None, 1)
        assert word in WORDS, f"unknown instruction: {line}"
        yield word, rest


def main():
    recipe, packages = sys.argv[1], sys.argv[2:]
    folder = os.path.dirname(os.path.abspath(recipe))
    stages, installed, user, command = [], [], None, None
    for word, rest in read(recipe):
        if word == "FROM":
            name = re.fullmatch(r"debian:12(?:-slim)?(?: AS (\w+))?", rest)
            assert name, rest
            stages.append(name[1])
            user = command = None
        assert stages, "an instruction before the first FROM"
        if word == "COPY":
            source = re.match(r"--from=(\w+) ", rest)
            assert not source or source[1] in stages[:-1], rest
            if source:
                pattern = os.path.basename(rest.split()[1])
                installed += [one for one in packages if fnmatch.fnmatch(os.path.basename(one), pattern)]
        elif word == "RUN":
            for script in re.findall(r"\./(\w+)", rest):
                assert os.access(os.path.join(folder, script), os.X_OK), f"there is no {script} to run"
        elif word == "USER":
            user = rest
        elif word == "CMD":
            command = json.loads(rest)
    assert [os.path.basename(one).split("_")[0] for one in installed] == ["stopbit"], installed
    content = subprocess.run(["dpkg-deb", "-c", installed[0]], check=True, text=True, stdout=subprocess.PIPE).stdout
    files = {line.split(None, 5)[5].removeprefix(".") for line in content.splitlines()}
    for path in command:
        assert not path.startswith("/") or path in files, f"{path} is not in the package"
    assert any(path.startswith("/") for path in command), command
    scripts = subprocess.run(["dpkg-deb", "-I", installed[0], "postinst"], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert user in scripts, f"the package makes no user {user}"
    print("Containerfile: looked at, not built")


if __name__ == "__main__":
    main()
