#!/usr/bin/python3
"""Makes the pictures of chatfs-window for docs/user/desktop.md, on a screen of its own.

    contrib/desktop-parts/window.py DIR [--program PATH]

A mount with a file on its way, one that could not be sent and a request; the code of a link; the question for the
passphrase. Debian: apt install xvfb dbus-x11 openbox xdotool imagemagick python3-gi gir1.2-gtk-4.0 at-spi2-core
        gir1.2-atspi-2.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from screen import Screen  # noqa: E402
from stage import Stage, process, run, until  # noqa: E402

WINDOW = os.path.join(os.path.dirname(HERE), "file-managers", "window", "chatfs-window")


class Pictures:
    def __init__(self, folder, program, pictures):
        self.stage = Stage(program, folder)
        self.pictures = pictures
        self.stage.make_home()
        os.makedirs(folder + "/run", 0o700)
        self.screen = Screen(self.stage, 97)
        self.screen.name_menus()
        self.environment = dict(self.screen.environment, XDG_DATA_HOME=folder + "/data", CHATFS=program)
        self.stage.data = folder + "/data/chatfs"

    def window(self, title):
        """Waits until the window is drawn; its number."""
        self.number = ""

        def found():
            self.number = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", title],
                                         env=self.environment, stdout=subprocess.PIPE, text=True,
                                         check=False).stdout.strip().split("\n")[-1]
            return self.number

        until(f"the window {title} is there", 60, found)
        self.screen.rest(seconds=3, timeout=30)
        return self.number

    def take(self, title, name):
        """A picture of one window, without its shadow and in few colours."""
        number = self.window(title)
        raw = f"{self.stage.folder}/{name}"
        # From the screen: the window of another program may not be read alone.
        run(["import", "-window", number, raw], env=self.environment)
        run(["convert", raw, "-shave", "4x4", "-dither", "None", "-colors", "64", "-define", "png:compression-level=9", "-strip",
             f"{self.pictures}/{name}"], env=self.environment)

    def show(self, *names):
        """The window, while the pictures with these names are taken: pairs of a key and a picture."""
        with process([WINDOW], self.stage.folder + "/window.log",
                     env=dict(self.environment, DBUS_SESSION_BUS_ADDRESS=self.screen.environment["DBUS_SESSION_BUS_ADDRESS"])):
            for action, title, name in names:
                self.window("^ChatFS$")
                action()
                self.take(title, name)

    def press(self, label):
        """Presses a button by its name."""
        run([sys.executable, HERE + "/items.py", "button", label], env=self.screen.environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", metavar="DIR")
    parser.add_argument("--program", metavar="PATH", default=shutil.which("chatfs"))
    options = parser.parse_args()
    if not options.program:
        sys.exit("window: name chatfs with --program")
    os.makedirs(options.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="chatfs-window-") as folder:
        pictures = Pictures(folder, os.path.abspath(options.program), os.path.abspath(options.pictures))
        stage, log = pictures.stage, folder + "/relay.log"
        with pictures.screen.open(), stage.relay() as relay:
            address = lambda: re.search(r"smp://\S+", open(log).read())
            until("the relay is there", 30, address)
            servers = ["--server", address().group(), "--relay", relay]
            for person in ["ada", "Bob", "Book club"]:
                stage.chatfs("profile", "create", person, "--relay", relay)
                if person != "ada":
                    stage.chatfs("connect", "ada", person)
            link = stage.chatfs("address", "create", "--profile", "ada", *servers[:2]).strip()
            chats = stage.home + "/Chats"
            with stage.mount("ada", chats, pictures.screen.environment, "--quiet-time", "3s"), \
                    process([stage.program, "accept", link, "--profile", "Eve", "--data", folder + "/eve", *servers],
                            folder + "/eve.log", env=stage.environment):
                with open(chats + "/Book club/reading list.pdf", "wb") as file:
                    file.write(os.urandom(300_000))
                # Within the quiet time of the file.
                stage.chatfs("contact", "leave", "ada", "--profile", "Book club")
                requests = lambda: "Eve" in stage.chatfs("requests", "--profile", "ada")
                until("Eve asks", 60, requests)
                with stage.silent():
                    with open(chats + "/Bob/holiday.mp4", "wb") as file:
                        file.write(os.urandom(9_000_000))
                    until("it is sent", 60, lambda: os.getxattr(
                        chats + "/Bob/holiday.mp4", "user.chatfs.state") in (b"sending", b"queued"))
                    pictures.show((lambda: None, "^ChatFS$", "window-mount.png"))
            # Alone, because 'chatfs pair' asks for the profile where there are several.
            stage.data = folder + "/alone/chatfs"
            pictures.environment["XDG_DATA_HOME"] = folder + "/alone"
            log = folder + "/pair.log"
            with process([stage.program, "pair", "--profile", "ada", "--data", stage.data, *servers], log,
                         env=stage.environment):
                until("ada has a server", 60, lambda: "https://" in open(log).read())
            pictures.show((lambda: pictures.press("Pair…"), "^Pair", "window-pair.png"))
            del pictures.environment["CREDENTIALS_DIRECTORY"]
            pictures.environment["XDG_DATA_HOME"] = folder + "/locked"
            run([stage.program, "profile", "create", "ada", "--data", folder + "/locked/chatfs", "--passphrase-fd", "0"],
                input="correct horse battery staple\n", env=pictures.environment)
            pictures.show((lambda: None, "^ChatFS$", "window-locked.png"))


if __name__ == "__main__":
    main()
