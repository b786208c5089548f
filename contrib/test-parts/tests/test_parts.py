"""The tests that a change concerns, and the results of a run."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from job import Job, Result, read_results  # noqa: E402
from package import Package  # noqa: E402
from report import Report  # noqa: E402
from run import Durations, jobs_of, run_again, run_all  # noqa: E402

RESULTS = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="TestResults" errors="0" tests="3" failures="1" skipped="1" time="2.5">
    <testcase classname="StoreTests.OneTests" name="opens()" time="1.5" />
    <testcase classname="StoreTests.OneTests" name="hostile(name: &quot;\x1b&lt;&amp;&#x0;&quot;)" time="0.25">
      <failure message="Expectation failed" />
    </testcase>
    <testcase classname="StoreTests.TwoTests" name="waits()" time="0.75">
      <skipped />
    </testcase>
  </testsuite>
</testsuites>
"""


def target(name, kind="regular", needs=()):
    return {"name": name, "type": kind, "dependencies": [{"byName": [need, None]} for need in needs]}


def package(root="/"):
    return Package(root, [
        target("Base"), target("Store", needs=["Base"]), target("Agent", needs=["Store"]),
        target("BaseTests", "test", ["Base"]), target("StoreTests", "test", ["Store"]),
        target("AgentTests", "test", ["Agent"]), target("MountTests", "test", ["Agent"])])


class Concerned(unittest.TestCase):
    def test_a_module_concerns_the_tests_that_depend_on_it(self):
        self.assertEqual(package().tests_concerning(["Sources/Store/A.swift"]), ["StoreTests", "AgentTests", "MountTests"])
        self.assertEqual(package().tests_concerning(["Sources/Base/A.swift"]), package().tests)

    def test_a_test_concerns_itself(self):
        self.assertEqual(package().tests_concerning(["Tests/BaseTests/In/ATests.swift"]), ["BaseTests"])

    def test_a_document_concerns_the_tests_that_name_it(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root, "Tests/StoreTests")
            folder.mkdir(parents=True)
            (folder / "ATests.swift").write_text('let path = root + "/docs/user/sending.md"')
            self.assertEqual(package(root).tests_concerning(["docs/user/sending.md"]), ["StoreTests"])
            self.assertEqual(package(root).tests_concerning(["docs/other.md"]), [])
            (folder / "BTests.swift").write_text('let pages = files(in: "docs/dev")')
            self.assertEqual(package(root).tests_concerning(["docs/dev/decisions/001.md"]), ["StoreTests"])
            self.assertEqual(package(root).tests_concerning(["docs/developers.md"]), [])

    def test_the_manifest_concerns_all(self):
        self.assertEqual(package().tests_concerning(["Package.swift"]), package().tests)


class Results(unittest.TestCase):
    def test_are_read_for_every_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.xml")
            path.write_text(RESULTS)
            found = read_results(path)
        self.assertEqual([test.outcome for test in found], ["passed", "failed", "skipped"])
        self.assertEqual([test.seconds for test in found], [1.5, 0.25, 0.75])
        self.assertEqual(found[1].suite, "StoreTests.OneTests")

    def test_of_a_run_that_crashed_are_none(self):
        self.assertEqual(read_results(pathlib.Path("/nowhere")), [])


class Jobs(unittest.TestCase):
    TESTS = ["StoreTests.OneTests/opens()", "StoreTests.TwoTests/waits()", "BaseTests.ATests/holds()"]

    def test_are_one_for_each_target(self):
        found = jobs_of(package(), self.TESTS, None)
        self.assertEqual([job.name for job in found], ["StoreTests", "BaseTests"])
        self.assertEqual(found[0].filter, "^StoreTests[./]")

    def test_of_a_pattern_have_only_its_matches(self):
        found = jobs_of(package(), self.TESTS, "waits")
        self.assertEqual([job.filter for job in found], [r"^(StoreTests\.TwoTests/waits\(\))"])
        self.assertEqual(jobs_of(package(), self.TESTS, "nothing"), [])

    def test_that_took_long_begin_first(self):
        durations = Durations(pathlib.Path("/nowhere"))
        durations.keep(Job("a", ""), 1)
        durations.keep(Job("b", ""), 9)
        ordered = durations.order([Job("a", ""), Job("b", ""), Job("c", "", size=500)])
        self.assertEqual([job.name for job in ordered], ["b", "c", "a"])


class ScriptedRunner:
    """Gives each job the next of its results: an exit status and the suites that failed."""

    def __init__(self, scripts):
        self._scripts, self.filters = {name: list(script) for name, script in scripts.items()}, []

    def run(self, job):
        self.filters.append(job.filter)
        status, failed = self._scripts[job.name].pop(0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.xml")
            cases = [f'<testcase classname="{suite}" name="t()" time="1">\n<failure />' for suite in failed]
            path.write_text("\n".join(cases))
            return Result(status, "", path, 1.0)


class Verdicts(unittest.TestCase):
    def verdict(self, scripts):
        runner, report = ScriptedRunner(scripts), Report()
        durations = Durations(pathlib.Path("/nowhere"))
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            run_again(run_all([Job(name, name) for name in scripts], runner, 2, report, durations), runner, report)
            passed = report.print()
        return passed, said.getvalue(), runner

    def test_passing_alone_is_flaky(self):
        passed, said, runner = self.verdict({"A": [(1, ["A.OneTests"]), (0, [])], "B": [(0, [])]})
        self.assertTrue(passed)
        self.assertIn("flaky, passed when run alone: A", said)
        self.assertEqual(runner.filters[-1], r"^(A\.OneTests)[./]")

    def test_two_failures_are_a_failure(self):
        passed, said, _ = self.verdict({"A": [(1, ["A.OneTests"]), (1, ["A.OneTests"])]})
        self.assertFalse(passed)
        self.assertIn("failed: A", said)

    def test_a_crash_fails_at_once(self):
        passed, _, runner = self.verdict({"A": [(139, [])]})
        self.assertFalse(passed)
        self.assertEqual(len(runner.filters), 1)

    def test_hanging_tests_run_again(self):
        self.assertTrue(self.verdict({"A": [(124, []), (0, [])]})[0])


if __name__ == "__main__":
    unittest.main()
