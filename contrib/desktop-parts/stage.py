"""People, a relay and mounts for contrib/desktop, and the processes that are started for it."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def until(what, seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"desktop: waited in vain until {what}")
        time.sleep(0.1)


@contextlib.contextmanager
def process(command, log, **options):
    """A process group that ends with the block: first asked, then killed."""
    with open(log, "ab") as output:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   start_new_session=True, **options)
    try:
        yield started
    finally:
        for number, timeout in [(signal.SIGTERM, 20), (signal.SIGKILL, 5)]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(timeout)
                break


class Stage:
    """Alice, the sender of the files, and bob's home."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.data = folder + "/data"
        self.home = folder + "/home"
        # Where the extensions of file managers are installed; None: nowhere.
        self.extensions = None
        self.chats = self.home + "/Chats"
        self.environment = dict(os.environ, HOME=folder + "/alice", TMPDIR=folder, COLUMNS="80")
        for name in ["XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"]:
            self.environment.pop(name, None)
        os.makedirs(folder + "/alice")
        # As systemd would give it: the data is encrypted, as that of users is.
        os.makedirs(folder + "/credentials", 0o700)
        with open(folder + "/credentials/chatfs.key", "wb") as key:
            key.write(os.urandom(32))
        self.environment["CREDENTIALS_DIRECTORY"] = folder + "/credentials"

    def make_home(self):
        """An empty one, with the theme and the size of windows of the file managers."""
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.home, 0o700)
        os.makedirs(self.home + "/.config")
        with open(self.home + "/.config/kdeglobals", "w") as file:
            # KDE Frameworks 6 takes FUSE for remote storage, which has no previews otherwise.
            file.write(f"[Icons]\nTheme=breeze\n[PreviewSettings]\nMaximumRemoteSize={1 << 40}\n")
        os.makedirs(self.home + "/.config/glib-2.0/settings")
        with open(self.home + "/.config/glib-2.0/settings/keyfile", "w") as file:
            file.write("[org/gnome/nautilus/window-state]\nmaximized=true\n")

    def chatfs(self, *words):
        return run([self.program, *words, "--data", self.data], env=self.environment)

    @contextlib.contextmanager
    def relay(self):
        log = self.folder + "/relay.log"
        with process([self.program, "relay", "--dir", self.folder + "/relay"], log, env=self.environment) as relay:
            self._relay = relay.pid
            address = lambda: re.search(r"xftp://\S+", open(log).read())
            until("the relay is there", 30, address)
            yield address().group()

    @contextlib.contextmanager
    def silent(self):
        """The relay accepts, and says nothing."""
        os.killpg(self._relay, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._relay, signal.SIGCONT)

    def answers_without_name(self):
        """Whether a command finds the only mount of this user."""
        return subprocess.run([self.program, "ls", "--json"], env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    @contextlib.contextmanager
    def mount(self, profile, folder, environment, *options, notifications="off"):
        log = f"{self.folder}/{profile}.log"
        before = open(log).read() if os.path.exists(log) else ""
        with process([self.program, "mount", folder, "--notifications", notifications, "--profile", profile, "--data", self.data,
                      "--cache-dir", f"{self.folder}/cache-{profile}", *options], log,
                     env=dict(environment, CREDENTIALS_DIRECTORY=self.environment["CREDENTIALS_DIRECTORY"])):
            until("it is mounted", 60, lambda: "is mounted at" in open(log).read()[len(before):])
            yield

    def send(self, relay, source):
        for name in ["alice", "bob"]:
            self.chatfs("profile", "create", name, "--relay", relay)
        self.chatfs("connect", "alice", "bob")
        names = sorted(os.listdir(source))
        with self.mount("alice", self.folder + "/a", self.environment):
            for name in names:
                shutil.copyfile(f"{source}/{name}", f"{self.folder}/a/bob/{name}")
            sent = lambda name: os.getxattr(f"{self.folder}/a/bob/{name}", "user.chatfs.state") == b"sent"
            until("all is sent", 900, lambda: all(map(sent, names)))
        return names
