"""A screen, a window manager and a bus for one file manager."""

import contextlib
import glob
import os
import shutil
import signal
import struct
import subprocess
import time

from stage import process, run, until

SCREEN = (1400, 900)


class Screen:
    """A home, a screen and a bus for one file manager."""

    def __init__(self, stage, number):
        self.number = number
        self.environment = dict(
            stage.environment, HOME=stage.home, XDG_RUNTIME_DIR=stage.folder + "/run", DISPLAY=f":{number}",
            GDK_BACKEND="x11", QT_QPA_PLATFORM="xcb", XDG_SESSION_TYPE="x11", NO_AT_BRIDGE="1", LIBGL_ALWAYS_SOFTWARE="1", GSK_RENDERER="cairo",
            GTK_A11Y="none", LANG="C.UTF-8", GSETTINGS_BACKEND="keyfile")
        if stage.extensions:
            plugins = glob.glob(stage.extensions + "/lib*/**/plugins", recursive=True)
            self.environment.update(
                PATH=f"{stage.extensions}/bin:" + os.environ["PATH"], QT_PLUGIN_PATH=":".join(plugins),
                XDG_DATA_DIRS=f"{stage.extensions}/share:/usr/local/share:/usr/share",
                THUNARX_DIRS=f"{stage.extensions}/lib/thunarx-3:" + ":".join(glob.glob("/usr/lib/*/thunarx-3")))
        self.log = stage.folder + "/screen.log"
        self.frame = f"{stage.folder}/frame-{number}"
        self._clipboard = None

    def name_menus(self):
        """Programs that are started from now on put their menus and dialogs on the accessibility bus."""
        for name in ["NO_AT_BRIDGE", "GTK_A11Y"]:
            self.environment.pop(name, None)
        self.environment.update(QT_ACCESSIBILITY="1", QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1")

    @contextlib.contextmanager
    def open(self):
        shutil.rmtree(self.frame, ignore_errors=True)
        os.mkdir(self.frame)
        with process(["Xvfb", f":{self.number}", "-screen", "0", f"{SCREEN[0]}x{SCREEN[1]}x24", "-nolisten", "tcp",
                      "-fbdir", self.frame],
                     self.log, env=self.environment):
            until("the screen is there", 20, lambda: os.path.exists(f"/tmp/.X11-unix/X{self.number}"))
            time.sleep(0.5)
            bus = run(["dbus-daemon", "--session", "--fork", "--print-address=1", "--print-pid=1"],
                      env=self.environment).split()
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus[0]
            try:
                with process(["openbox"], self.log, env=self.environment):
                    yield
            finally:
                self._take_back()
                # Services of the bus (tumblerd, kiod, …) end with it.
                os.kill(int(bus[1]), signal.SIGTERM)
                time.sleep(1)

    def do(self, *words):
        subprocess.run(["xdotool", *words], env=self.environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    def shot(self, path):
        subprocess.run(["import", "-window", "root", path], env=self.environment, check=False)

    def pixels(self):
        """The current screen as lines of pixels. Read from Xvfb's own file in a millisecond."""
        with open(self.frame + "/Xvfb_screen0", "rb") as file:
            data = file.read()
        header = struct.unpack(">25I", data[:100])
        begin, width = header[0] + header[19] * 12, header[12]
        return [data[begin + line * width:begin + (line + 1) * width] for line in range(header[5])]

    def difference(self, before, top=0):
        """How many lines of the screen below the top are others than before."""
        return sum(old != new for old, new in zip(before[top:], self.pixels()[top:]))

    def shows(self, x, y):
        """Whether there is more than a plain ground around a place: 4 bytes are a pixel. Some folders are one plain
        colour with round corners."""
        lines = self.pixels()[max(0, y - 30):y + 30]
        return len({line[4 * max(0, x - 40):4 * (x + 40)] for line in lines}) > 3

    def count(self, colours):
        """How many pixels of the screen have one of these colours (#rrggbb)."""
        wanted = {bytes.fromhex(colour[1:])[::-1] for colour in colours}
        return sum(line[start:start + 3] in wanted for line in self.pixels() for start in range(0, len(line), 4))

    def rest(self, seconds=1, timeout=4):
        """Waits until nothing has changed for so long, not for ever: a cursor may blink. The screen then."""
        end, seen, since = time.monotonic() + timeout, self.pixels(), time.monotonic()
        while time.monotonic() - since < seconds and time.monotonic() < end:
            time.sleep(0.1)
            now = self.pixels()
            if now != seen:
                seen, since = now, time.monotonic()
        return seen

    def has_window(self, name):
        return subprocess.run(["xdotool", "search", "--onlyvisible", "--name", name], env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def fill(self, name):
        """Makes the window with this name as large as the screen; the pointer goes out of the way."""
        self.do("search", "--onlyvisible", "--name", name, "windowsize", str(SCREEN[0]), str(SCREEN[1]))
        self.do("search", "--onlyvisible", "--name", name, "windowmove", "0", "0")
        self.do("mousemove", str(SCREEN[0] - 1), str(SCREEN[1] - 1))

    def offer(self, kind, data):
        """Puts data of one kind onto the clipboard, until the next or the end of the screen."""
        self._take_back()
        self._clipboard = subprocess.Popen(
            ["xclip", "-quiet", "-selection", "clipboard", "-t", kind, "-i"], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._clipboard.stdin.write(data)
        self._clipboard.stdin.close()
        time.sleep(0.5)

    def _take_back(self):
        if self._clipboard:
            self._clipboard.terminate()
            self._clipboard.wait()
        self._clipboard = None

    def colourful(self, path):
        """Which part of a picture of the screen has strong colours, as those that were sent have, in per cent."""
        share = run(["convert", path, "-colorspace", "HSL", "-channel", "G", "-separate", "-threshold", "60%",
                     "-format", "%[fx:mean*100]", "info:"])
        return float(share)
