"""Keeps what an appliance answers its page, for screens.py: the state of an hour, and the changes of some seconds.

    answers_of.py URL FOLDER [--host NAME] [--name NAME] [--looks 40]
"""

import argparse
import json
import os
import time
import urllib.parse
import urllib.request


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder")
    parser.add_argument("--host", default="md1")
    parser.add_argument("--system", default="Linux 6.1.0-28-amd64 x86_64", help="not that of the machine that made them")
    parser.add_argument("--name", default="demo", help="of the appliance")
    parser.add_argument("--looks", type=int, default=40)
    arguments = parser.parse_args()

    def ask(path):
        with urllib.request.urlopen(f"{arguments.url}/{path}", timeout=20) as answer:
            return json.load(answer)

    def keep(name, what):
        with open(os.path.join(arguments.folder, name), "w", encoding="utf-8") as file:
            json.dump(what, file, separators=(",", ":"))
            file.write("\n")

    os.makedirs(arguments.folder, exist_ok=True)
    instruments = ask("instruments.json?market=0")
    instrument = instruments["instruments"][0]
    first, books = ask("status.json"), []
    for _ in range(arguments.looks):
        books.append(ask("book.json?market=0&instrument=" + urllib.parse.quote(instrument)))
        time.sleep(1)
    last, history, about = ask("status.json"), ask("history.json"), ask("about.json")
    about["host"], about["system"] = arguments.host, arguments.system
    first["name"], last["name"] = arguments.name, arguments.name
    gaps = {}
    for gap in history["gaps"][-12:]:
        query = urllib.parse.urlencode({"channel": gap["channel"], "key": gap["key"]})
        while (answer := ask("gap.json?" + query)).get("state") in ("reading", "waiting"):
            time.sleep(0.2)
        gaps[gap["key"]] = answer
    keep("answers.json", {"about": about, "first": first, "last": last, "history": history, "errors": ask("errors.json"),
                          "instruments": instruments, "books": books, "gaps": gaps})


if __name__ == "__main__":
    main()
