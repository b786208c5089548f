"""One process that runs the tests of a target, or of one suite of the target that mounts."""

import dataclasses
import html
import os
import pathlib
import re
import signal
import subprocess
import time

# A process that takes longer hangs. Suites that mount take less, but wait for each other's daemons.
TIME_LIMIT = 900


@dataclasses.dataclass(frozen=True)
class Test:
    suite: str
    name: str
    seconds: float = 0
    outcome: str = "passed"


@dataclasses.dataclass(frozen=True)
class Job:
    """`user` is the ID under which it mounts, or None for tests that need no mount."""

    name: str
    filter: str
    user: int | None = None
    # An estimate of its length. Long jobs begin first.
    size: int = 0

    def again(self, suites):
        """The same for some of its suites."""
        either = "|".join(re.escape(suite) for suite in suites)
        return dataclasses.replace(self, filter=f"^({either})[./]")

    @property
    def title(self):
        return self.name if self.user is None else f"{self.name} as user {self.user}"


class Result:
    def __init__(self, status, output, results_file, seconds):
        self.status, self.output, self.seconds = status, output, seconds
        self.tests = read_results(results_file)

    @property
    def passed(self):
        return self.status == 0

    @property
    def timed_out(self):
        return self.status == 124

    def failed_suites(self):
        return sorted({test.suite for test in self.tests if test.outcome == "failed"})

    def failure_lines(self):
        output = self.output.splitlines()
        lines = [
            line for line in output
            if "✘" in line or re.match(r"(\S+: )?(error:|Fatal)", line) or re.match(r"\s*↳ (?!///|Testing|Target)", line)
        ]
        return lines or output[-40:]


def read_results(path):
    """The tests in a file of results.

    Reads it line by line: names of tests may contain characters that no XML parser takes.
    """
    if not path.exists():
        return []
    tests = []
    for line in path.read_text(errors="replace").splitlines():
        case = re.search(r'<testcase classname="([^"]*)" name="([^"]*)" time="([^"]*)"', line)
        if case:
            suite, name, seconds = (html.unescape(value) for value in case.groups())
            tests.append(Test(suite, name, float(seconds)))
        for mark, outcome in [("<failure", "failed"), ("<skipped", "skipped")]:
            if mark in line and tests:
                tests[-1] = dataclasses.replace(tests[-1], outcome=outcome)
    return tests


def tests_environment(environment):
    """The tests' variables: equal on every machine, except paths and variables for ChatFS."""
    kept = {
        name: value for name, value in environment.items()
        if name in ("HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR") or name.startswith("CHATFS_")
    }
    # The backtrace of a process that a test ends on purpose takes seconds.
    return {**kept, "LANG": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/sh", "TERM": "xterm", "SWIFT_BACKTRACE": "enable=no"}


class Runner:
    """Runs jobs, each in a process group of its own, and ends those that are left when it is told to stop."""

    def __init__(self, root, bundle, stage):
        self._root, self._bundle, self._stage = root, bundle, stage
        self._running = {}
        self._stopped = False

    def run(self, job):
        folder = self._stage / "runs" / job.title.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results"
        results.mkdir(exist_ok=True)
        # The user of a job writes its results despite the umask.
        results.chmod(0o777)
        results_file = results / "run.xml"
        results_file.unlink(missing_ok=True)
        began = time.monotonic()
        with open(folder / "output", "wb") as output:
            status = self._wait(job, self._command(job, results_file), output)
        return Result(status, (folder / "output").read_text(errors="replace"), results_file, time.monotonic() - began)

    def stop(self):
        self._stopped = True
        for process in list(self._running.values()):
            self._end(process)

    def _command(self, job, results_file):
        arguments = ["--testing-library", "swift-testing", "--filter", job.filter, "--xunit-output", results_file]
        if job.user is None:
            return [self._bundle, *arguments]
        # One test after the other: each has daemons and relays, which would wait for those of others.
        return [
            *as_root(), self._root / "contrib/test-parts/in-namespace", self._stage, str(job.user),
            self._stage / self._bundle.name, "--no-parallel", *arguments,
        ]

    def _wait(self, job, command, output):
        """Returns the exit status: 124 after the time limit, 130 when stopped."""
        if self._stopped:
            return 130
        process = subprocess.Popen(
            command, cwd=self._root, env=tests_environment(os.environ), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True)
        self._running[job.title] = process
        try:
            return process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            output.write(f"\nended after {TIME_LIMIT} s\n".encode())
            self._end(process)
            return 124
        finally:
            del self._running[job.title]

    @staticmethod
    def _end(process):
        """Asks the whole group to end, and kills it if it does not."""
        for number, seconds in [(signal.SIGTERM, 10), (signal.SIGKILL, 10)]:
            subprocess.run([*as_root(), "kill", f"-{number.name[3:]}", "--", f"-{process.pid}"],
                           stderr=subprocess.DEVNULL)
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                pass


def as_root():
    return [] if os.geteuid() == 0 else ["sudo", "-n"]


def mount_users():
    """The user IDs that mount: root and one without privileges, as far as this user may become either."""
    if os.geteuid() == 0:
        return [0, 65534]
    may_become_root = subprocess.run(["sudo", "-n", "true"], stderr=subprocess.DEVNULL).returncode == 0
    return [0, os.geteuid()] if may_become_root else []


def tests_of(bundle):
    """The names of all tests in the bundle, as `StoreTests.DatabaseTests/opens()`."""
    listed = subprocess.run([bundle, "--testing-library", "swift-testing", "--list-tests"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [line for line in listed.splitlines() if re.match(r"\w+\.", line)]


def stage_for_mounts(root, built, bundle, stage):
    """Copies the files for tests that mount to a place that every user may read: the clone may be in a private home."""
    stage.chmod(0o755)
    things = [built / "chatfs", built / "chatfs-bench", bundle, *built.glob("*.resources"), root / "docs",
              root / "contrib"]
    subprocess.run(["cp", "-r", *(thing for thing in things if pathlib.Path(thing).exists()), stage], check=True)
    subprocess.run(["chmod", "-R", "a+rX", stage], check=True)
