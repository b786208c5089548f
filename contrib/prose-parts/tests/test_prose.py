"""Which sentences contrib/prose finds, and which parts it lets exceed their limits."""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../prose")
LOADER = importlib.machinery.SourceFileLoader("prose", PATH)
prose = importlib.util.module_from_spec(importlib.util.spec_from_loader("prose", LOADER))
LOADER.exec_module(prose)


def measured(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return prose.measure(root)


class Sentences(unittest.TestCase):
    def test_pronouns_for_nouns_count(self):
        for text in ["What is received is kept.", "Nobody waits.", "Tells who asks.", "That the file is gone is an error.",
                     "It is for whoever asks."]:
            self.assertEqual(prose.pronouns(text), 1, text)

    def test_relative_clauses_and_questions_do_not_count(self):
        for text in ["The member who left is gone.", "What happens then?", "That file is open.", "Returns `what` there is."]:
            self.assertEqual(prose.pronouns(prose.plain(text)), 0, text)

    def test_paragraphs_and_items_are_separate(self):
        text = "# Title\n\nOne\ntwo.\n\n* three\n* four\n```\ncode\n```\n| a | b |\n|---|---|\n"
        self.assertEqual([block for _, block in prose.blocks(enumerate(text.split("\n"), 1))],
                         ["One two.", "three", "four", "| a | b |"])

    def test_slashes_in_a_literal_start_no_comment(self):
        text = 'let a = "see http://a.b for more words" // A comment.\n\n/// Another\n/// one.\n'
        self.assertEqual([found[2] for found in prose.source(text)],
                         ["see http://a.b for more words", "A comment.", "Another one."])

    def test_statements_and_interpolations_are_no_words(self):
        text = '"SELECT what FROM a WHERE b"\n"the file \\(name(of: what)) is not here"\n'
        self.assertEqual([found[2] for found in prose.source(text)], ["the file X is not here"])


class Limits(unittest.TestCase):
    def faults(self, files, key):
        return measured(files)[key].faults()

    def test_a_small_part_may_have_one_pronoun(self):
        self.assertEqual(self.faults({"docs/a.md": "Nobody waits.\n"}, ("documents", "docs/a.md")), [])
        self.assertEqual(self.faults({"docs/a.md": "Nobody waits for nobody.\n"}, ("documents", "docs/a.md")),
                         ["2 pronouns in 4 words"])

    def test_long_sentences_paragraphs_and_pages_are_faults(self):
        page = " ".join(["word"] * 121) + ".\n"
        self.assertEqual(self.faults({"docs/a.md": page}, ("documents", "docs/a.md")),
                         ["sentences of 121 words at p90", "docs/a.md:1: paragraph of 121 words"])
        page = "Words are here.\n\n" * 1300
        self.assertEqual(self.faults({"docs/a.md": page}, ("documents", "docs/a.md")), [f"{len(page)} bytes"])

    def test_all_documents_have_a_limit(self):
        page = "Words are here.\n\n" * 1000
        files = {f"docs/{number}.md": page for number in range(10)}
        self.assertEqual(self.faults(files, ("documents", "all")), [f"{10 * len(page)} bytes"])

    def test_long_names_are_faults(self):
        name = "a" * 61
        files = {"Tests/ATests/A.swift": f"@Test func {name}() {{}}\n@Test(\"short\") func b() {{}}\n"}
        self.assertEqual(self.faults(files, ("names", "Tests/ATests")),
                         [f"Tests/ATests/A.swift:1: name of 61 letters: {name}"])

    def test_strings_of_tests_are_free(self):
        files = {"Tests/ATests/A.swift": 'let a = "what nobody and somebody said"\n',
                 "Sources/A/A.swift": 'let a = "what nobody and somebody said"\n'}
        parts = measured(files)
        self.assertNotIn(("strings", "Tests/ATests"), parts)
        self.assertEqual(parts["strings", "Sources/A"].hits, 3)


class Judgement(unittest.TestCase):
    FILES = {"Sources/A/A.swift": "// What nobody said.\n", "Sources/B/B.swift": "// Returns the size.\n"}

    def test_parts_must_meet_their_limits(self):
        self.assertEqual(prose.judge(measured(self.FILES), set()), ["comments in Sources/A: 2 pronouns in 3 words"])

    def test_open_parts_may_exceed_their_limits(self):
        self.assertEqual(prose.judge(measured(self.FILES), {("comments", "Sources/A")}), [])

    def test_needless_exceptions_are_faults(self):
        opened = {("comments", "Sources/A"), ("comments", "Sources/B"), ("comments", "Sources/C")}
        self.assertEqual(prose.judge(measured(self.FILES), opened), [
            "comments in Sources/B meet their limits: run 'contrib/prose --trim'",
            "comments in Sources/C meet their limits: run 'contrib/prose --trim'"])


if __name__ == "__main__":
    unittest.main()
