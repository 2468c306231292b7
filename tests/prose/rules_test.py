#!/usr/bin/env python3
"""Each rule of prose_test.py finds what it is for, and passes what replaces it."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import prose_test  # noqa: E402


def rules_of(text):
    return {finding.rule for finding in prose_test.check_words("page", prose_test.paragraphs(text))}


class Words(unittest.TestCase):
    def test_every_rule_finds_its_example(self):
        examples = {
            "who": ["The writer never waits: who is too slow loses records.", "Whoever asks is answered.", "A setting for who knows the feed."],
            "what": ["What stays is counted."],
            "which": ["It says which. Which field holds it is schema."],
            "behind": ["the message behind it", "Behind a gap packets wait"],
            "stands": ["the price stands in word 3", "Blocks stand in order"],
            "told": ["the housekeeper is told", "they were asked"],
            "so many": ["at most so many bytes", "as many as are wanted"],
            "nobody": ["nobody reads it", "One that ends is lost"],
            "is there": ["if libfabric is there", "the process is gone"],
            "doors": ["clients at the doors"],
            "some": ["some 40 minutes", "About 30 s"],
        }
        self.assertEqual(set(examples), set(prose_test.RULES))
        for rule, texts in examples.items():
            for text in texts:
                self.assertIn(rule, rules_of(text), text)

    def test_plain_english_passes(self):
        for text in ("A reader that falls behind loses records.", "The user who opened the ring owns it.", "SBF stands for Stopbit firmware.",
                     "Which framing does this capture have?", "There is a file.", "a process, of the user who started it", "# What you see"):
            self.assertEqual(rules_of(text), set(), text)

    def test_lines_of_a_paragraph_are_one_text(self):
        self.assertEqual(rules_of("The reader is\ntold of it."), {"told"})
        self.assertEqual(rules_of("A process ends,\nwho has started it."), set())

    def test_code_is_no_english(self):
        self.assertEqual(rules_of("The step `is told` is a name.\n\n    nobody stands here\n\n```sh\nwho is there\n```\n"), set())

    def test_cells_and_items_are_texts_of_their_own(self):
        self.assertEqual(rules_of("| step | who reads it |\n|---|---|\n| `x` | a word |\n"), {"who"})
        self.assertEqual(rules_of("- who reads it\n"), {"who"})


class OtherLanguages(unittest.TestCase):
    def found(self, texts):
        return [(finding.line, finding.rule) for finding in prose_test.check_words("x", texts)]

    def test_a_web_page_shows_text_labels_and_strings_of_its_script(self):
        page = '<p>The reader is told.</p>\n<style>a { b: "nobody reads" }</style>\n<i title="nobody reads"></i>\n<script>\nx = "it is told";\n</script>'
        self.assertEqual(self.found(prose_test.PageTexts(page).found), [(1, "told"), (3, "nobody"), (5, "told")])

    def test_strings_of_lua(self):
        self.assertEqual(self.found(prose_test.lua_texts("x = 1 -- 'nobody reads'\ny = 'nobody reads'\n")), [(2, "nobody")])

    def test_docstrings(self):
        self.assertEqual(self.found(prose_test.docstrings('def f():\n    """The reader is told."""\n    x = "nobody reads"\n')), [(2, "told")])

    def test_help_and_messages_of_a_script(self):
        script = "  demo                    the reader is told\n                          nobody reads\nfail $x \"nobody reads\"\n# nobody reads\n"
        self.assertEqual(self.found(prose_test.script_texts(script)), [(1, "told"), (2, "nobody"), (3, "nobody")])


class Comments(unittest.TestCase):
    def found(self, text, name="x.hpp"):
        return [(finding.line, finding.rule) for finding in prose_test.check_words(name, prose_test.comments(name, text))]

    def test_comments_of_all_kinds_are_read(self):
        self.assertEqual(self.found("int a;\n/// The reader is told.\nint b;  ///< Nobody reads it.\n"), [(2, "told"), (3, "nobody")])
        self.assertEqual(self.found("/* The reader\n * is told. */\n"), [(1, "told")])
        self.assertEqual(self.found("assign a = b;  // stands in 'b'\n", "x.sv"), [(1, "stands")])

    def test_lines_of_a_comment_are_one_text_and_items_are_not(self):
        self.assertEqual(self.found("/// The reader is\n/// told of it.\n"), [(1, "told")])
        self.assertEqual(self.found("int a;  ///< A process ends,\n        ///< who has started it.\n"), [])
        self.assertEqual(self.found("/// One of:\n///  - the reader is\n///  - told of it\n"), [])

    def test_code_in_and_around_comments_is_no_english(self):
        self.assertEqual(self.found("const char* nobody = \"// is told\";  // `is told` is a name\n"), [])
        self.assertEqual(self.found("int a = 16'384;  ///< the reader's: nobody's\n"), [(1, "nobody")])

    def test_the_installed_headers_are_found(self):
        names = prose_test.installed_headers(prose_test.ROOT)
        self.assertLessEqual({"host/bindings/c/stopbit.h", "host/ring/reader.hpp", "decoder/record/typed_view.hpp", "microcode/program.hpp"}, names)
        self.assertIn("host/bindings/c/stopbit.h", prose_test.all_files())


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root, prose_test.ROOT = prose_test.ROOT, pathlib.Path(self.folder.name)

    def tearDown(self):
        prose_test.ROOT = self.root
        self.folder.cleanup()

    def rules(self, name, text):
        path = prose_test.ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [finding.rule for finding in prose_test.check_file(name)]

    def test_the_size_of_a_readme_is_bounded(self):
        self.assertEqual(self.rules("a/README.md", "x\n" * 100), [])
        self.assertEqual(self.rules("a/README.md", "x\n" * 101), ["lines"])
        self.assertEqual(self.rules("README.md", "x\n" * 150), [])
        self.assertEqual(self.rules("README.md", "x\n" * 151), ["lines"])
        self.assertEqual(self.rules("a/README.md", "─" * 120 + "\n" + "─" * 121 + "\n"), ["columns"])
        self.assertEqual(self.rules("a/other.md", "x" * 300), [])

    def test_a_link_names_a_file_and_a_heading_that_exist(self):
        self.rules("b/README.md", "# Two `words`, here\n")
        self.assertEqual(self.rules("a.md", "[x](b/README.md#two-words-here) [y](b) [z](https://a.invalid/b) [w](b#two-words-here)"), [])
        self.assertEqual(self.rules("a.md", "[x](c.md) [y](b/README.md#three)"), ["link", "link"])
        self.assertEqual(self.rules("a.md", "`[x](c.md)`\n\n```md\n[x](c.md)\n```\n"), [])

    def test_architecture_names_the_rooms(self):
        (prose_test.ROOT / "host/ring").mkdir(parents=True)
        (prose_test.ROOT / "host/feed").mkdir()
        (prose_test.ROOT / "doc").mkdir()
        self.assertEqual(self.rules("doc/architecture.md", "| [`host/ring`](../host/ring) | x |\n| [`host/feed`](../host/feed) | x |\n"), [])
        self.assertEqual(self.rules("doc/architecture.md", "| [`host/ring`](../host/ring) | x |\n"), ["rooms"])
        self.assertEqual(sorted(self.rules("doc/architecture.md", "| [`host/ring`](../host/ring) | x |\n| [`host/feed`](../host/feed) | x |\n"
                                                                 "| [`host/old`](../host/ring) | x |\n")), ["path", "rooms"])

    def test_paths_in_code_exist(self):
        self.rules("host/a.cpp", "")
        self.assertEqual(self.rules("CONTRIBUTING.md", "`host/a.cpp` `host/commands/NAME.cpp` `a/b.cpp`"), [])
        self.assertEqual(self.rules("CONTRIBUTING.md", "`host/b.cpp`"), ["path"])

    def test_alerts_and_helps_are_read(self):
        self.assertEqual(self.rules("x/stopbit.rules.yml", '  annotations: {summary: "The process is gone"}\n'), ["is there"])
        self.assertEqual(self.rules("x/tally.cpp", 'add(a, "late", labels,\n    "Packets that nobody "\n    "wanted");\n'), ["nobody"])
        self.assertEqual(self.rules("x/error.cpp", 'return Failure{"cannot read " + path +\n  ": nobody "\n  "wrote it"};'), ["nobody"])
        self.assertEqual(self.rules("x/help.cpp", '"One line.\\n"\n"\\n"\n"Who asks.\\n";\n'), ["who"])
        self.assertEqual(self.rules("x/code.cpp", '// "nobody is told"\nchar c = \'"\'; f(R"(nobody is told)", "nobody", "a::b is told \\" ");\n'), [])
        self.assertEqual(self.rules("x/board.json", '{"panels": [{"title": "Who waits"}], "expr": "who waits"}'), ["who"])


class Allow(unittest.TestCase):
    def test_an_entry_allows_a_rule_or_words_of_a_text(self):
        finding = prose_test.Finding("host/a/README.md", 3, "behind", "'the message behind it'")
        self.assertTrue(prose_test.Entry(1, "host/*/README.md | behind | reason").allows(finding))
        self.assertTrue(prose_test.Entry(1, "host/a/README.md | message behind | reason").allows(finding))
        self.assertFalse(prose_test.Entry(1, "host/a/README.md | told | reason").allows(finding))
        self.assertFalse(prose_test.Entry(1, "host/b/README.md | behind | reason").allows(finding))

    def test_an_entry_has_a_reason(self):
        with self.assertRaises(SystemExit):
            prose_test.Entry(1, "host/a/README.md | behind |")


if __name__ == "__main__":
    unittest.main()
