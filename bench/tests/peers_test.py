"""Tests `./dev bench peers` with stand-ins: scripts that run our own decoder. argv[1]: bench_peer."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/tools"))
sys.dont_write_bytecode = True
import bench  # noqa: E402
import peers  # noqa: E402

OURS = ""

HONEST = '#!/bin/sh\nexec "{ours}" quick "$@"\n'
LIAR = '#!/bin/sh\n[ "$1" = time ] && exec "{ours}" quick "$@"\n"{ours}" quick "$@" | sed \'3s/"id":/"id":9/\'\n'
SHORT = '#!/bin/sh\n"{ours}" quick "$@" | head -n 2\n'
STRANGER = "#!/bin/sh\nexit 77\n"
BROKEN = "#!/bin/sh\necho no >&2\nexit 5\n"
SILENT = '#!/bin/sh\n[ "$1" = answers ] && exec "{ours}" quick "$@"\nread line; echo soon\n'


def run(**scripts):
    """Exit status, what is printed, and the figures of peers with these scripts on the sample."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in scripts.items():
            path = Path(folder) / name
            path.write_text(text.format(ours=OURS))
            path.chmod(0o755)
        (Path(folder) / "readme.txt").write_text("not a decoder")
        figures = Path(folder) / "figures.json"
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = peers.main([folder, "--quick", "--filter", "^sample$", "--ours", OURS, "--json", str(figures)], bench)
        return status, out.getvalue(), json.loads(figures.read_text()) if figures.exists() else None


class Pairs(unittest.TestCase):
    def test_an_honest_peer_is_timed_beside_ours(self):
        status, text, result = run(stand_in=HONEST)
        self.assertEqual(status, 0, text)
        figures = {figure["name"]: figure["samples"] for figure in result["figures"]}
        for name in ("native", "quick", "stand_in"):
            self.assertEqual(len(figures[f"peers/sample/{name}"]), peers.QUICK_ROUNDS)
        # The stand-in runs our own engine, so both times of a pair are close to each other on any machine.
        ratios = [a / b for a, b in zip(figures["peers/sample/stand_in"], figures["peers/sample/quick"])]
        self.assertTrue(any(0.3 < ratio < 3 for ratio in ratios), ratios)
        self.assertIn("stand_in", text)
        self.assertNotIn("readme", text)

    def test_a_wrong_answer_is_a_problem_and_is_not_timed(self):
        status, text, result = run(liar=LIAR, stand_in=HONEST)
        self.assertEqual(status, bench.EXIT_PROBLEMS)
        self.assertIn("liar another answer: message 3:", text)
        names = [figure["name"] for figure in result["figures"]]
        self.assertNotIn("peers/sample/liar", names)
        self.assertIn("peers/sample/stand_in", names)

    def test_missing_answers_are_wrong(self):
        status, text, _ = run(short=SHORT)
        self.assertEqual(status, bench.EXIT_PROBLEMS)
        self.assertIn("message 3: nothing instead of", text)

    def test_a_feed_that_a_peer_cannot_read_is_a_note(self):
        status, text, _ = run(stranger=STRANGER)
        self.assertEqual(status, 0, text)
        self.assertIn("note: sample: stranger cannot read it", text)

    def test_a_peer_that_fails_is_a_problem(self):
        status, text, _ = run(broken=BROKEN)
        self.assertEqual(status, bench.EXIT_PROBLEMS)
        self.assertIn("broken ends with status 5: no", text)

    def test_a_peer_without_a_time_is_a_problem(self):
        status, text, _ = run(silent=SILENT)
        self.assertEqual(status, bench.EXIT_PROBLEMS)
        self.assertIn("gives no time: 'soon'", text)

    def test_a_folder_without_a_decoder(self):
        self.assertEqual(run()[0], bench.EXIT_USAGE)


class Answers(unittest.TestCase):
    def test_numbers_are_compared_as_numbers_and_keys_in_any_order(self):
        self.assertEqual(peers.first_difference(['{"a":1e1,"b":1.50}'], ['{"b":1.5, "a":10}']), "")

    def test_numbers_that_a_double_cannot_hold(self):
        self.assertIn("message 1", peers.first_difference(['{"a":9007199254740993}'], ['{"a":9007199254740992}']))
        self.assertIn("message 1", peers.first_difference(['{"a":0.10000000000000000001}'], ['{"a":0.1}']))


if __name__ == "__main__":
    OURS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
