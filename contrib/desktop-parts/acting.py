"""Works in an open folder: arrivals and deletions are visible, and actions succeed or report their error."""

import os
import shutil
import subprocess
import sys
import time
import zipfile

from screen import SCREEN
from stage import process, until

# Where the file "a photo.jpg", the first of its folder, is on a screen that the window fills: Thunar 4.18, Nautilus 43,
# Dolphin 22.12.
FIRST = {"thunar": (218, 128), "nautilus": (340, 140), "dolphin": (324, 104)}
# The button of the dialog that asks.
REPLACE = {"thunar": "Replace", "nautilus": "Replace", "dolphin": "Overwrite"}
HERE = os.path.dirname(os.path.abspath(__file__))
# Seconds in which a window must show a notice of the mount.
SOON = 1.0
PLACEHOLDER = 700_000
TOP = 90


class Acting:
    """One file manager with a small chat open: bob looks, alice is at the other end. `problems` lists the failures."""

    def __init__(self, stage, screen, name, command, shots):
        self.stage = stage
        self.screen = screen
        self.name = name
        self.command = command
        self.shots = shots
        self.chat = stage.chats + "/alice"
        self.sent = stage.folder + "/a/bob"
        self.problems = []
        self.times = {}
        self.place = FIRST[name]

    def run(self):
        for name in ["a photo.jpg", "b photo.jpg", "paper.pdf"]:
            self.put(name)
        until("the files are there", 60, lambda: len(os.listdir(self.chat)) == 3)
        until("they are sent", 60, lambda: all(self.state(f"{self.sent}/{name}") == "sent" for name in os.listdir(self.sent)))
        with process([word.format(folder=self.chat) for word in self.command], f"{self.stage.folder}/{self.name}-2.log",
                     env=self.screen.environment):
            until("the window is there", 30, lambda: self.screen.has_window("alice"))
            self.screen.fill("alice")
            # On a busy machine it is there long before anything is in it.
            until("the files are seen", 60, lambda: self.screen.shows(*self.place))
            self.screen.rest()
            self.shot("opened")
            if self.stage.extensions:
                self.receive_by_menu()
                self.keep_and_free_by_menu()
            self.open_picture()
            self.arrive()
            self.vanish()
            self.paste()
            self.refused("overwrite", self.overwrite)
            self.refused("rename", self.rename)
            self.refused("delete", self.delete)
            if self.stage.folders == "archive":
                self.archive_folder()
            else:
                self.refused("folder", self.paste_folder)
        return self.problems, self.times

    # The actions and their expected results.

    def receive_by_menu(self):
        before = self.screen.pixels()
        self.by_menu("Receive Now", lambda path: self.state(path) in ("stored", "hydrated"), "menu")
        if not self.screen.difference(before, TOP):
            self.problems.append("what was received is marked as before")

    def keep_and_free_by_menu(self):
        self.by_menu("Keep on This Device", self.is_pinned)
        self.by_menu("Stop Keeping", lambda path: not self.is_pinned(path))
        self.by_menu("Free Up Space", lambda path: self.state(path) == "remote")
        # It has told how much.
        self.screen.do("key", "Escape")
        self.screen.rest(0.5)

    def by_menu(self, label, is_done, picture=None):
        """Presses an item of the first file's menu, and waits for its effect on that file."""
        # The extension reads an entry after the event of its last change.
        self.screen.rest(1)
        self.click_first(3)
        self.screen.rest(0.5)
        if picture:
            self.shot(picture)
        self.press("menu", label)
        if not self.comes_true(10, lambda: is_done(f"{self.chat}/a photo.jpg")):
            self.problems.append(f"'{label}' had no effect")
            self.screen.do("key", "Escape")
        self.screen.rest(0.5)

    def open_picture(self):
        if not self.stage.extensions:
            return
        before = self.screen.pixels()
        with open(f"{self.chat}/b photo.jpg", "rb") as file:
            file.read()
        self.seen("the mark of an opened picture", before)
        self.shot("received")

    def arrive(self):
        before = self.screen.rest(0.5)
        self.put("z arrival.pdf")
        # Not by listing: the mount lets events wait for that.
        until("it arrives", 60, lambda: os.path.exists(f"{self.chat}/z arrival.pdf"))
        self.seen("an arrival", before)

    def vanish(self):
        before = self.screen.rest(0.5)
        os.unlink(f"{self.sent}/z arrival.pdf")
        until("it goes", 60, lambda: not os.path.exists(f"{self.chat}/z arrival.pdf"))
        self.seen("a deletion", before)

    def paste(self):
        self.copy_to_clipboard("from outside.txt", b"some words\n" * 100)
        self.screen.do("key", "ctrl+v")
        if not self.comes_true(20, lambda: "from outside.txt" in os.listdir(self.sent)):
            self.problems.append("what was pasted was not sent")
        time.sleep(2)
        if len([name for name in os.listdir(self.sent) if name.startswith("from outside")]) > 1:
            self.problems.append("what was pasted was sent twice")

    def overwrite(self):
        self.copy_to_clipboard("from outside.txt", b"other words\n" * 100)
        asks = self.screen.rest(0.3)
        self.screen.do("key", "ctrl+v")
        self.comes_true(5, lambda: self.screen.difference(asks) > 100)
        self.screen.rest(0.5)
        self.press("button", REPLACE[self.name])

    def paste_folder(self):
        folder = self.stage.home + "/a folder"
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/inside.txt", "w") as file:
            file.write("within a folder")
        self.copy(folder)
        self.screen.do("key", "ctrl+v")

    def archive_folder(self):
        """All of it goes, as one archive and once."""
        os.makedirs(self.stage.home + "/a folder/deeper", exist_ok=True)
        with open(self.stage.home + "/a folder/deeper/more.bin", "wb") as file:
            file.write(os.urandom(400_000))
        self.paste_folder()
        if not self.comes_true(60, lambda: "a folder.zip" in os.listdir(self.sent)):
            self.problems.append("a folder that was pasted was not sent")
            return
        self.screen.rest(1)
        self.shot("folder")
        names = [name for name in os.listdir(self.sent) + os.listdir(self.chat) if name.startswith("a folder")]
        if names != ["a folder.zip"] * 2:
            self.problems.append("a folder that was pasted became " + ", ".join(names))
        with zipfile.ZipFile(f"{self.sent}/a folder.zip") as archive:
            if archive.testzip() or set(archive.namelist()) != {
                    "a folder/", "a folder/inside.txt", "a folder/deeper/", "a folder/deeper/more.bin"}:
                self.problems.append("the archive of a folder holds " + ", ".join(archive.namelist()))

    def rename(self):
        self.select_first()
        self.screen.do("key", "F2")
        time.sleep(1)
        self.screen.do("type", "renamed")
        self.screen.do("key", "Return")

    def delete(self):
        self.select_first()
        self.screen.do("key", "Delete")

    def refused(self, name, deed):
        """Something is said, and nothing has changed at either end."""
        all_here = lambda: [sorted((entry.name, entry.stat().st_size) for entry in os.scandir(folder))
                            for folder in (self.chat, self.sent)]
        there = all_here()
        before = self.screen.rest(0.5)
        deed()
        time.sleep(1)
        self.screen.rest(0.5)
        self.shot(name)
        if not self.screen.difference(before):
            self.problems.append(f"{name}: nothing is said")
        for _ in range(3):
            self.screen.do("key", "Escape")
        time.sleep(1.5)
        if there != all_here():
            self.problems.append(f"{name}: something was done")

    # Means.

    def put(self, name):
        """Alice sends a file that is not received by itself."""
        with open(f"{self.stage.folder}/{name}", "wb") as file:
            if name.endswith(".jpg"):
                file.write(self.picture())
            file.write(os.urandom(PLACEHOLDER))
        shutil.copyfile(f"{self.stage.folder}/{name}", f"{self.sent}/{name}")

    def picture(self):
        made = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "gradients=size=800x600:n=5:seed=3",
                               "-frames:v", "1", "-f", "mjpeg", "-"], stdout=subprocess.PIPE, check=True)
        return made.stdout

    def state(self, path):
        return os.getxattr(path, "user.chatfs.state").decode()

    def is_pinned(self, path):
        try:
            return os.getxattr(path, "user.chatfs.pinned") != b""
        except OSError:
            return False

    def seen(self, what, before):
        begin = time.monotonic()
        while not self.screen.difference(before, TOP):
            if time.monotonic() - begin > 10:
                self.problems.append(what + " is never seen")
                return
            time.sleep(0.01)
        self.times[what] = time.monotonic() - begin
        if self.times[what] > SOON:
            self.problems.append(f"{what} is seen after {self.times[what]:.1f} s")

    def comes_true(self, seconds, condition):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True

    def click_first(self, button):
        x, y = self.place
        self.screen.do("mousemove", str(x), str(y), "click", str(button))

    def press(self, kind, label):
        """Presses an item of the open menu, or a button of the dialog, by its name."""
        said = subprocess.run([sys.executable, HERE + "/items.py", kind, label], env=self.screen.environment, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if said.returncode != 0:
            self.problems.append(f"there is no {kind} '{label}': {said.stderr.strip()}")

    def select_first(self):
        """In Dolphin with Ctrl, since a click opens."""
        self.screen.do("key", "Escape")
        if self.name == "dolphin":
            self.screen.do("keydown", "ctrl")
        self.click_first(1)
        self.screen.do("keyup", "ctrl")
        self.screen.do("mousemove", str(SCREEN[0] - 5), str(SCREEN[1] - 60))

    def copy_to_clipboard(self, name, data):
        path = f"{self.stage.home}/{name}"
        with open(path, "wb") as file:
            file.write(data)
        self.copy(path)

    def copy(self, path):
        """Onto the clipboard, in the form of each file manager."""
        uri = "file://" + path.replace(" ", "%20")
        if self.name == "dolphin":
            self.screen.offer("text/uri-list", uri + "\r\n")
        else:
            self.screen.offer("x-special/gnome-copied-files", f"copy\n{uri}")

    def shot(self, name):
        if self.shots:
            self.screen.shot(f"{self.shots}/{self.name}-{name}.png")
