"""Browses folders of files without extensions while the relay is stopped."""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import struct
import time
import zlib

from screen import Screen
from stage import process, until

# Windows that list a folder; file managers are added by contrib/desktop.
DIALOGS = {
    "gtk-dialog": ["zenity", "--file-selection", "--title=alice", "--filename={folder}/"],
    "kde-dialog": ["kdialog", "--title", "alice", "--getopenfilename", "{folder}"],
}
ENDINGS = ["", ".bin", ".xyz", ".dat", ".ogg", ".json"]
# More than travels within a message.
SIZE = 262_200
# Lines of the screen that hold no entries, and how many of the others have text or icons when a window is full.
TOP = 120
FULL = 120
# A cursor blinks, a scroll bar fades.
RESTLESS = 25
# inotify(7): IN_ATTRIB, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE.
CHANGES = 0x4 | 0x40 | 0x80 | 0x100 | 0x200


def draw(folder, count):
    os.makedirs(folder)
    for number in range(count):
        with open(f"{folder}/{number:04}{ENDINGS[number % len(ENDINGS)]}", "wb") as file:
            file.write(os.urandom(SIZE))


class Watch:
    """The events of a folder, of which GTK's dialogs make entries that are there twice."""

    def __init__(self, folder):
        self.c = ctypes.CDLL(None)
        self.file = self.c.inotify_init1(os.O_NONBLOCK)
        if self.c.inotify_add_watch(self.file, folder.encode(), CHANGES) < 0:
            raise OSError("inotify_add_watch")

    def names(self):
        names = []
        with contextlib.suppress(BlockingIOError):
            while True:
                data, place = os.read(self.file, 65536), 0
                while place < len(data):
                    size = struct.unpack_from("iIII", data, place)[3]
                    names.append(data[place + 16:place + 16 + size].rstrip(b"\0").decode())
                    place += 16 + size
        os.close(self.file)
        return names


def lines(screen):
    return [zlib.crc32(line) for line in screen.pixels()[TOP:]]


def unlike(one, other):
    return sum(a != b for a, b in zip(one, other))


def completed(screen, seconds):
    """Seconds until the window reached its final contents, and whether they are more than a frame."""
    begin, frames = time.monotonic(), []
    while time.monotonic() - begin < seconds:
        frames.append((time.monotonic() - begin, lines(screen)))
        time.sleep(0.05)
    end = frames[-1][1]
    moment = 0
    for when, frame in frames:
        if unlike(frame, end) > RESTLESS:
            moment = when
    return moment, len(set(end)) > FULL


def fetched(stage):
    """A problem if the mount has fetched something, or none."""
    with open(stage.chats + "/.chatfs/status.json", encoding="utf-8") as file:
        status = json.load(file)
    if status["cachedBytes"] or status["transfers"]:
        return [f"fetched {status['cachedBytes']} bytes, {len(status['transfers'])} on their way"]
    return []


def browse_together(stage, windows, number, options):
    """All windows at the folder at once, each on a screen of its own, while the relay is stopped: problems, and each
    window's duration. `windows` has the command and the extensions of each. The processors are shared, so each
    window may take as long as all of them one after the other."""
    stage.make_home()
    screens = {}
    for index, (name, (_, extensions)) in enumerate(windows.items()):
        stage.extensions = extensions
        screens[name] = Screen(stage, number + index)
    folder = stage.chats + "/alice"
    limit = options.seconds * len(windows)

    def show(name):
        command = [word.format(folder=folder) for word in windows[name][0]]
        with process(command, f"{stage.folder}/{name}-4.log", env=screens[name].environment):
            until("the window is there", 60, lambda: screens[name].has_window("alice"))
            screens[name].fill("alice")
            return completed(screens[name], limit + 6)

    with contextlib.ExitStack() as all_of_it:
        for screen in screens.values():
            all_of_it.enter_context(screen.open())
        environment = next(iter(screens.values())).environment
        all_of_it.enter_context(stage.mount("bob", stage.chats, environment))
        until("everything has arrived", 120, lambda: len(os.listdir(folder)) >= options.entries)
        with stage.silent(), concurrent.futures.ThreadPoolExecutor(len(windows)) as threads:
            found = dict(zip(windows, threads.map(show, windows)))
        problems = [f"{name} shows nothing" for name, (_, is_full) in found.items() if not is_full]
        problems += [f"{name} is complete after {seconds:.1f} s" for name, (seconds, _) in found.items() if seconds > limit]
        return problems + fetched(stage), {name: seconds for name, (seconds, _) in found.items()}


def browse(stage, name, command, number, options):
    """One window at the folder while the relay is stopped: its problems, and its duration."""
    stage.make_home()
    screen = Screen(stage, number)
    problems = []
    with screen.open(), stage.mount("bob", stage.chats, screen.environment):
        folder = stage.chats + "/alice"
        until("everything has arrived", 120, lambda: len(os.listdir(folder)) >= options.entries)
        with stage.silent():
            watch = Watch(folder)
            with process([word.format(folder=folder) for word in command], f"{stage.folder}/{name}-3.log",
                         env=screen.environment):
                until("the window is there", 60, lambda: screen.has_window("alice"))
                screen.fill("alice")
                seconds, is_full = completed(screen, 8)
                if options.screenshots:
                    screen.shot(f"{options.screenshots}/{name}-unknown.png")
            events = watch.names()
        if not is_full:
            problems.append("shows nothing")
        if seconds > options.seconds:
            problems.append(f"is complete after {seconds:.1f} s")
        problems += fetched(stage)
        if events:
            problems.append(f"{len(events)} events while it listed, for which a dialog shows entries twice: {events[:3]}")
        # Mounts of other users are not counted.
        if not stage.answers_without_name():
            problems.append("a command without a mountpoint found several mounts")
    return problems, seconds
