"""Builds and runs tests for contrib/test."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from job import Job, Runner, mount_users, stage_for_mounts, tests_of
from package import Package
from report import Report, say

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOUNTING = "MountTests"
# Whole modules compile in two thirds of the time. A test bundle needs its index, and an index needs one object
# file for each source file, which only a number of threads gives.
FLAGS = ["-whole-module-optimization", "-num-threads", "1"]
# The compiler checks its own code after each of its passes, for a third more time.
VERIFYING_FLAGS = ["-Xfrontend", "-sil-verify-all"]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="contrib/test", description="""
        Builds and runs tests: all of them, or those of some test targets, or those that a change concerns. Tests that
        mount run as root and as a user without privileges.""")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="a test target, such as StoreTests")
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="BASE",
                        help="the targets that depend on files changed since BASE (default: the last commit)")
    parser.add_argument("--filter", metavar="NAME", help="only tests whose name matches this regular expression")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(), metavar="N",
                        help="processes at a time (default: two for each processor)")
    parser.add_argument("--build", action="store_true", help="run nothing, and print the folder of the products")
    parser.add_argument("--verify", action="store_true",
                        help="have the compiler verify what it makes (-sil-verify-all); in a build of its own")
    arguments = parser.parse_args()
    if arguments.targets and arguments.changed:
        parser.error("give either targets or --changed")
    return arguments


def changed_files(base):
    def git(*command):
        return subprocess.run(["git", *command], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")

    return [path for path in git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard") if path]


def chosen_targets(arguments, package):
    if arguments.changed:
        return package.tests_concerning(changed_files(arguments.changed))
    for target in arguments.targets:
        if target not in package.tests:
            sys.exit(f"test: {target} is no test target; there are {', '.join(package.tests)}")
    return arguments.targets or package.tests


def build(targets, package, verify):
    """Builds the targets with the programs that they start. Returns the folder of the products.

    Some targets are built in a folder of their own: what they leave out must not be built anew for a complete run. So
    are those that the compiler verifies.
    """
    complete = len(targets) == len(package.tests)
    folder = ROOT / ".build" / ("verified" if verify else "complete" if complete else "selected")
    environment = dict(os.environ)
    environment.pop("CHATFS_TESTS", None)
    if not complete:
        environment["CHATFS_TESTS"] = " ".join(targets)
    command = ["swift", "build", "--build-tests", "--scratch-path", folder]
    for flag in FLAGS + (VERIFYING_FLAGS if verify else []):
        command += ["-Xswiftc", flag]
    # The output of contrib/test --build is the folder alone.
    if subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr).returncode != 0:
        sys.exit("test: the build failed")
    return folder / "debug"


class Durations:
    """How long each job took last, so that long ones begin first. Unknown ones are ordered by their source's size."""

    def __init__(self, path):
        self._path = path
        try:
            self._seconds = json.loads(path.read_text())
        except (OSError, ValueError):
            self._seconds = {}

    def order(self, jobs):
        return sorted(jobs, key=lambda job: -self._seconds.get(job.title, job.size / 100))

    def keep(self, job, seconds):
        self._seconds[job.title] = round(seconds, 1)

    def write(self):
        self._path.write_text(json.dumps(self._seconds))


def lines(files):
    return sum(file.read_text().count("\n") for file in files)


def jobs_of(package, tests, pattern):
    """A job for each target, and for each suite that mounts as each user who mounts.

    With a pattern, a job runs only the tests whose name matches it. A job without any is left out.
    """
    users = mount_users()
    groups = {}
    for test in tests:
        target, suite = test.split(".")[0], re.split("[./]", test)[1]
        mounts = target == MOUNTING and users
        groups.setdefault(f"{target}.{suite}" if mounts else target, []).append(test)
    if MOUNTING in groups:
        say("no sudo without a password: the tests that mount run as this user only")
    jobs = []
    for name, names in groups.items():
        expression = f"^{re.escape(name)}[./]"
        if pattern:
            names = [test for test in names if re.search(pattern, test)]
            expression = f"^({'|'.join(re.escape(test) for test in names)})"
        if not names:
            continue
        if name.startswith(MOUNTING + "."):
            jobs += [Job(name, expression, user, size=len(names) * 300) for user in users]
        else:
            jobs.append(Job(name, expression, size=lines(package.sources(name))))
    return jobs


def run_all(jobs, runner, count, report, durations):
    """Runs the jobs beside each other. Returns those that failed, with their results."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        running = {pool.submit(runner.run, job): job for job in durations.order(jobs)}
        for number, future in enumerate(concurrent.futures.as_completed(running), 1):
            job, result = running[future], future.result()
            report.add(job, result)
            if result.passed:
                durations.keep(job, result.seconds)
            else:
                failed.append((job, result))
            outcome = f"{len(result.tests)} tests" if result.passed else "FAILED"
            if result.tests or not result.passed:
                say(f"[{number}/{len(jobs)}] {job.title}: {outcome}, {result.seconds:.0f} s")
    return failed


def run_again(failed, runner, report):
    """Repeats failed tests alone. A test that passes then is flaky; one that fails twice, or a crash, fails."""
    for job, first in failed:
        suites = first.failed_suites()
        if not suites and not first.timed_out:
            report.failed(job, first)
            continue
        say(f"again, alone: {job.title} {' '.join(suites)}")
        second = runner.run(job.again(suites) if suites else job)
        report.add(job, second)
        if second.passed:
            report.flaky(job, first)
        else:
            report.failed(job, second)


def main():
    arguments = parse_arguments()
    package = Package.read(ROOT)
    targets = chosen_targets(arguments, package)
    if not targets:
        say("no test concerns the change")
        return True
    began = time.monotonic()
    built = build(targets, package, arguments.verify)
    bundle = next(built.glob("*.xctest"))
    say(f"built in {time.monotonic() - began:.0f} s")
    if arguments.build:
        print(built)
        return True

    if MOUNTING in targets and not os.path.exists("/dev/fuse"):
        sys.exit("test: no /dev/fuse, which the tests that mount need")
    stage = pathlib.Path(tempfile.mkdtemp(prefix="chatfs-test-run-"))
    runner = Runner(ROOT, bundle, stage)

    def stop(number, _):
        runner.stop()
        remove(stage)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        if MOUNTING in targets:
            stage_for_mounts(ROOT, built, bundle, stage)
        report, durations = Report(), Durations(built.parent / "durations.json")
        jobs = jobs_of(package, tests_of(bundle), arguments.filter)
        if not jobs:
            sys.exit(f"test: no test matches {arguments.filter}")
        run_again(run_all(jobs, runner, arguments.jobs, report, durations), runner, report)
        durations.write()
    finally:
        remove(stage)
    passed = report.print()
    say(f"{time.monotonic() - began:.0f} s in all")
    return passed


def remove(stage):
    if os.geteuid() == 0:
        shutil.rmtree(stage, ignore_errors=True)
    else:
        subprocess.run(["sudo", "-n", "rm", "-rf", stage], stderr=subprocess.DEVNULL)
        shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
