"""The report of a run: the slowest tests, the flaky ones, and the counts."""

import collections
import sys


def say(text):
    print(f"test: {text}", file=sys.stderr, flush=True)


class Report:
    def __init__(self):
        self._tests = {}
        self._flaky, self._failures = [], []

    def add(self, job, result):
        for test in result.tests:
            self._tests[job.title, test.suite, test.name] = test

    def flaky(self, job, result):
        """The job failed beside others and passed alone."""
        self._flaky.append((job.title, result.failure_lines()))

    def failed(self, job, result):
        self._failures.append((job.title, result.failure_lines()))

    def print(self):
        """Returns whether every test passed."""
        say("the slowest tests:")
        slowest = sorted(self._tests.items(), key=lambda item: -item[1].seconds)[:10]
        for (title, suite, name), test in slowest:
            print(f"{test.seconds:8.1f} s  {suite} {name} ({title})", file=sys.stderr)
        self._print_lines("flaky, passed when run alone", self._flaky)
        self._print_lines("failed", self._failures)
        outcomes = collections.Counter(test.outcome for test in self._tests.values())
        # A crash or a time limit leaves no failed test behind.
        failed = max(outcomes["failed"], len(self._failures))
        sys.stderr.flush()
        print(f"{outcomes['passed']} passed, {failed} failed, {outcomes['skipped']} skipped", flush=True)
        return not self._failures

    @staticmethod
    def _print_lines(heading, entries):
        for title, lines in entries:
            say(f"{heading}: {title}")
            for line in lines:
                print(f"    {line}", file=sys.stderr)
