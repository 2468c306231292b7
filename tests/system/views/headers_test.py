"""The headers of all template files compile without a warning, with nothing but the headers of views in the include path.

usage: headers_test.py STOPBIT SAMPLE_FOLDER SCRATCH_FOLDER SOURCE_FOLDER HEADERS COMPILER FLAG...
HEADERS are paths in SOURCE_FOLDER, with a comma between.
"""

import glob
import os
import shutil
import sys

import feed

# Declares everything the generated header promises, so that templates of C++ are looked at, too.
USE = """#include "feed.hpp"
struct Any {
  template <class View>
  void operator()(const View& view) const {
    (void)view;
  }
};
auto use(const feed::Feed& feed, std::span<const stopbit::record::Slot> slots) { return feed.read(slots, Any()); }
"""


def main(stopbit, sample, scratch, source, headers, compiler, *flags):
    shutil.rmtree(scratch, ignore_errors=True)
    for header in headers.split(","):
        target = os.path.join(scratch, "include", header)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(source, header), target)
    files = [case[2] for case in feed.cases(sample)]
    if os.environ.get("STOPBIT_CORPUS"):
        others = sorted(glob.glob(os.environ["STOPBIT_CORPUS"] + "/templates/*.xml"))
        files += others if os.environ.get("STOPBIT_LONG", "0") not in ("", "0") else others[::4]
    for number, path in enumerate(files):
        folder = os.path.join(scratch, str(number))
        os.makedirs(folder)
        without_id = ["--template-id", "1"] if os.path.basename(path) == "opra.xml" else []
        feed.run(stopbit, "gen", "cpp", "--templates", path, *without_id, "-o", f"{folder}/feed.hpp")
        with open(f"{folder}/use.cpp", "w", encoding="utf-8") as text:
            text.write(USE)
        feed.run(compiler, *flags, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
                 f"-I{scratch}/include", f"-I{folder}", f"{folder}/use.cpp")
    print(f"{len(files)} headers compile")


if __name__ == "__main__":
    main(*sys.argv[1:])
