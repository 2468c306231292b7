"""What bench/tools/bench.py makes of figures. Measures nothing."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/tools"))
sys.dont_write_bytecode = True
import bench  # noqa: E402
import results  # noqa: E402


def result(**figures):
    """A run: name = (unit, samples)."""
    return {
        "date": "2026-01-01T00:00:00+00:00", "quick": False, "machine": {"processor": "P", "commit": "c"}, "facts": {},
        "notes": [], "problems": [],
        "figures": [{"name": name, "unit": unit, "samples": samples, "count": len(samples)}
                    for name, (unit, samples) in figures.items()],
    }


def printed(function, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*arguments)
    return out.getvalue()


class Spread(unittest.TestCase):
    def test_quantiles_lie_between_the_values(self):
        self.assertEqual(bench.quantile([4, 1, 3, 2, 5], 0.5), 3)
        self.assertEqual(bench.quantile([1, 2], 0.25), 1.25)
        self.assertEqual(bench.quantile([7], 0.95), 7)

    def test_one_outlier_of_many_is_outside(self):
        low, high = bench.spread([100.0] * 50 + [1000.0])
        self.assertEqual((low, high), (100, 100))


class Verdict(unittest.TestCase):
    def test_ranges_that_overlap_say_nothing(self):
        self.assertEqual(bench.verdict("ns/msg", [100, 110, 120], [115, 125, 135]), "")

    def test_less_time_is_better(self):
        self.assertEqual(bench.verdict("ns/msg", [100, 101, 102], [90, 91, 92]), "better")
        self.assertEqual(bench.verdict("ns/msg", [90, 91, 92], [100, 101, 102]), "WORSE")

    def test_more_gain_is_better(self):
        self.assertEqual(bench.verdict("x", [3.0, 3.1], [2.0, 2.1]), "WORSE")
        self.assertEqual(bench.verdict("x", [2.0, 2.1], [3.0, 3.1]), "better")


class Parts(unittest.TestCase):
    def test_programs_add_to_what_is_known_of_a_workload(self):
        whole = result()
        bench.take(whole, {"figures": [], "facts": {"sample": {"messages": 5}}})
        bench.take(whole, {"figures": [], "facts": {"sample": {"profile programs": 2}}, "notes": ["n"]})
        self.assertEqual(whole["facts"], {"sample": {"messages": 5, "profile programs": 2}})
        self.assertEqual(whole["notes"], ["n"])


class Profiles(unittest.TestCase):
    def test_a_row_has_what_was_measured_and_gaps_for_the_rest(self):
        run = result(**{"profiles/sample/native/general": ("ns/msg", [60.0]), "profiles/sample/native/profiled": ("ns/msg", [50.0]),
                        "profiles/sample/native/gain": ("x", [1.2])})
        run["facts"]["sample"] = {"profile programs": 3, "maps covered, %": 75.0}
        self.assertIn("| `sample` | 3 | 75.0 |  | 60.0 | 50.0 | 1.20 |  |  |  |", results.profile_table(run, results.Figures(run)))


class Comparison(unittest.TestCase):
    def test_shows_ratio_and_mark(self):
        text = printed(bench.print_comparison, result(a=("ns", [100, 101])), result(a=("ns", [150, 151])))
        self.assertRegex(text, r"a +ns +100\.5 +150\.5 +1\.498 +WORSE")

    def test_percentiles_are_figures_too(self):
        old, new = result(a=("ns", [100, 101])), result(a=("ns", [100, 101]))
        old["figures"][0]["percentiles"] = {"p99": [200, 201]}
        new["figures"][0]["percentiles"] = {"p99": [400, 401]}
        text = printed(bench.print_comparison, old, new)
        self.assertRegex(text, r"a p99 +ns +200\.5 +400\.5 +1\.998 +WORSE")
        self.assertEqual(text.count("WORSE"), 1)

    def test_names_what_only_one_run_has(self):
        text = printed(bench.print_comparison, result(a=("ns", [1])), result(b=("ns", [1])))
        self.assertIn("not in the old run: b", text)
        self.assertIn("not in the new run: a", text)

    def test_tells_of_another_machine_and_of_quick_runs(self):
        old, new = result(a=("ns", [1])), result(a=("ns", [1]))
        new["machine"]["processor"] = "Q"
        new["quick"] = True
        text = printed(bench.print_comparison, old, new)
        self.assertIn("processor: P -> Q", text)
        self.assertIn("quick", text)


class Table(unittest.TestCase):
    def test_has_median_spread_and_percentiles(self):
        run = result(a=("ns", [1.0, 2.0, 3.0]))
        run["figures"][0].update(percentiles={"p90": [5, 6, 7], "p99": [8, 8, 8], "p99.9": [9, 9, 9]}, max=12345)
        text = printed(bench.print_table, run)
        self.assertRegex(text, r"a +ns +2\.00 +1\.10 \.\. 2\.90 +6\.00 +8\.00 +9\.00 +12345 +3")


class Disturbed(unittest.TestCase):
    def run_of(self, pace, best):
        run = result(a=("ns", [1.0, 2.0]), **{"machine/decode/best-pace": ("ns", [best]), "machine/e2e/best-pace": ("ns", [100])})
        run["figures"][0].update(pace=pace, disturbed=False)
        bench.mark_disturbed(run)
        return run

    def test_a_figure_made_before_the_machine_was_seen_at_its_best_is_marked(self):
        run = self.run_of(pace=120, best=118)
        self.assertTrue(run["figures"][0]["disturbed"])
        self.assertIn("a ~", printed(bench.print_table, run))

    def test_a_figure_near_the_best_pace_of_all_programs_is_not(self):
        run = self.run_of(pace=110, best=104)
        self.assertFalse(run["figures"][0]["disturbed"])
        self.assertNotIn("~", printed(bench.print_table, run))

    def test_the_best_pace_is_that_of_all_programs(self):
        self.assertEqual(bench.best_pace(self.run_of(pace=110, best=104)), 100)
        self.assertIsNone(bench.best_pace(result(a=("ns", [1]))))


class Results(unittest.TestCase):
    def test_targets_are_met_missed_or_not_measured(self):
        run = result(**{"decode/complex30000/native": ("ns/msg", [84, 85, 86]), "decode/cme-mdp-2012/native": ("ns/msg", [60]),
                        "decode/moex-asts-trades-2019/native": ("ns/msg", [190])})
        rows = results.targets(results.Figures(run))
        self.assertEqual([row[-1] for row in rows], ["stretch met", "met", "missed: x 2.00"])

    def test_a_target_between_processes_has_a_row_for_each_distance(self):
        run = result(**{"e2e/complex30000/native/near/visible-lines": ("lines", [1.0]),
                        "e2e/complex30000/native/far/visible-lines": ("lines", [3.0])})
        run["figures"][1]["disturbed"] = True
        rows = results.targets(results.Figures(run))
        self.assertEqual([(row[0].rsplit(" ", 1)[1], row[4], row[5]) for row in rows], [("near", "1.00", "met"), ("far", "3.00 ~", "missed: x 2.00")])

    def written(self, folder, **figures):
        """Writes a run with these figures; returns the text of each page in the folder."""
        run = {**result(**figures), "load before": 0.1, "load after": 0.2}
        run["machine"].update({"virtual machine": True, "processors": 2, "compiler": "g++"})
        for figure in run["figures"]:
            if figure["name"].startswith("wire/"):
                figure.update(percentiles={"p90": [5, 6, 7], "p99": [8], "p99.9": [9]}, max=12345)
        results.write(run, folder)
        return {path.name: path.read_text() for path in folder.iterdir() if path.suffix == ".md"}

    def test_a_run_writes_only_the_pages_it_has_figures_for(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "results"
            folder.mkdir()
            (folder / "decode.md").write_text("old")
            (folder / "wire.md").write_text("kept")
            pages = self.written(folder, **{"decode/sample/quick": ("ns/msg", [190.0])})
        self.assertEqual(sorted(pages), ["decode.md", "wire.md"])
        self.assertEqual(pages["wire.md"], "kept")
        self.assertIn("Measured 2026-01-01", pages["decode.md"])
        self.assertIn("| `sample` |  |  |  | 190 |  |  |", pages["decode.md"])
        self.assertNotIn("old", pages["decode.md"])
        self.assertNotIn("plots/", pages["decode.md"])

    def test_figures_of_the_wire_have_a_page(self):
        with tempfile.TemporaryDirectory() as parent:
            pages = self.written(Path(parent) / "results", **{"wire/socket/50000": ("ns", [6000.0]), "wire/clock-alone-reader/50000": ("ns", [5.0])})
        self.assertEqual(sorted(pages), ["wire.md"])
        self.assertIn("| socket port, 50,000 | 6,000 | 6.00 | 8.00 | 9.00 | 12,345 | 1 |", pages["wire.md"])
        self.assertIn("| clock alone, processor of the reader, 50,000 | 5.00 |", pages["wire.md"])

    def test_a_page_shows_a_plot_that_was_drawn(self):
        with tempfile.TemporaryDirectory() as parent:
            (Path(parent) / "plots").mkdir()
            (Path(parent) / "plots" / "decode.svg").touch()
            pages = self.written(Path(parent) / "results", **{"decode/sample/quick": ("ns/msg", [190.0])})
        self.assertIn("(../plots/decode.svg)", pages["decode.md"])


class GoogleBenchmark(unittest.TestCase):
    def test_repetitions_become_samples(self):
        runs = [{"run_name": "read/x", "run_type": "iteration", "real_time": 2.0, "time_unit": "us", "ns_per_msg": value}
                for value in (10.0, 11.0)]
        runs.append({"run_name": "read/x", "run_type": "aggregate", "real_time": 2.0, "time_unit": "us"})
        runs.append({"run_name": "plain", "run_type": "iteration", "real_time": 2.0, "time_unit": "us"})
        part = bench.from_google({"benchmarks": runs})
        self.assertEqual(part["figures"], [
            {"name": "read/x", "unit": "ns/msg", "samples": [10.0, 11.0], "count": 2},
            {"name": "plain", "unit": "ns", "samples": [2000.0], "count": 1}])
        self.assertEqual(part["problems"], [])

    def test_an_error_is_a_problem_not_a_figure(self):
        part = bench.from_google({"benchmarks": [
            {"run_name": "read/x", "run_type": "iteration", "error_occurred": True, "error_message": "the sum is wrong"}]})
        self.assertEqual(part["figures"], [])
        self.assertEqual(part["problems"], ["read/x: the sum is wrong"])


class CommandLine(unittest.TestCase):
    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = bench.main([str(argument) for argument in arguments])
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def test_an_earlier_run_is_shown_and_compared_without_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = Path(folder) / "old.json", Path(folder) / "new.json"
            old.write_text(json.dumps(result(a=("ns", [100, 101]))))
            new.write_text(json.dumps(result(a=("ns", [50, 51]))))
            status, out, _ = self.run_main("--use", new, "--compare", old)
        self.assertEqual(status, 0)
        self.assertIn("better", out)

    def test_problems_are_an_exit_status(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.json"
            path.write_text(json.dumps({**result(), "problems": ["a wrong answer"]}))
            status, out, _ = self.run_main("--use", path)
        self.assertEqual(status, 1)
        self.assertIn("PROBLEM: a wrong answer", out)

    def test_a_file_that_is_no_run_is_refused(self):
        status, _, err = self.run_main("--use", "/nonexistent.json")
        self.assertEqual(status, 2)
        self.assertIn("/nonexistent.json", err)

    def test_an_unknown_program_is_refused(self):
        status, _, err = self.run_main("speed")
        self.assertEqual(status, 2)
        self.assertIn("there is no program 'speed'", err)


if __name__ == "__main__":
    unittest.main()
