"""What tests of an appliance in Python have in common: the program, files, and waiting for a state."""

import os
import subprocess
import time

PATIENCE = 600  # seconds: for a hang, not for a slow machine


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Trial:
    """An appliance that logs into the file `log`."""

    def __init__(self, folder, name):
        self.program, self.name = os.path.join(os.path.abspath(folder), "stopbit"), name

    def stopbit(self, *arguments):
        run = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{arguments}: {run.returncode}\n{run.stdout}{run.stderr}"
        return run.stdout

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                print(read("log"))
                print(self.stopbit("stat", self.name))
                raise AssertionError(f"no sign of this: {what}")
            time.sleep(0.02)
