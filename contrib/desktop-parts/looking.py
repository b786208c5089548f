"""Opens a folder, and checks its downloads, its previews and its traces."""

import glob
import json
import os
import time

from pictures import MARKER
from screen import Screen
from stage import process, until

# The disc of emblem-chatfs-remote.svg, and as Nautilus draws it, half transparent. The smallest has 60 pixels of it, and
# at least twenty are on the screen.
REMOTE_COLOURS, REMOTE_PIXELS = ("#3374c4", "#8fb3df"), 1200


def files_below(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(parent, name)


def left_behind(stage):
    """The traces of the mount under the home: links, pictures, texts. Names in lists of recent files do not count."""
    found = []
    for path in files_below(stage.home):
        if os.path.islink(path):
            if os.readlink(path).startswith(stage.chats):
                found.append("link " + path)
            continue
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        if MARKER.encode() in data:
            found.append("words " + path)
        elif "/thumbnails/" in path:
            # The home was empty: there are no thumbnails but of this.
            found.append("thumbnail " + path)
    return found


def visit(stage, name, command, names, options, number):
    """One file manager: its downloads and traces."""
    stage.make_home()
    screen = Screen(stage, number)
    result = {}
    with screen.open():
        with stage.mount("bob", stage.chats, screen.environment, "--previews", options.previews):
            folder = stage.chats + "/alice"
            until("everything has arrived", 60, lambda: set(names) <= set(os.listdir(folder)))
            status = lambda: json.load(open(stage.chats + "/.chatfs/status.json"))
            state = lambda name: os.getxattr(f"{folder}/{name}", "user.chatfs.state").decode()
            before = {name: state(name) for name in names}
            begin = time.monotonic()
            command = [word.format(folder=folder) for word in command]
            with process(command, stage.folder + f"/{name}.log", env=screen.environment):
                time.sleep(min(5, options.wait / 3))
                screen.fill("alice")
                for _ in range(abs(options.zoom)):
                    screen.do("key", "ctrl+plus" if options.zoom > 0 else "ctrl+minus")
                screen.do("key", "Home")
                time.sleep(max(0, options.wait - (time.monotonic() - begin)))
                picture = (options.screenshots or stage.folder) + f"/{name}.png"
                screen.shot(picture)
                result["colourful"] = screen.colourful(picture)
                result["is_marked"] = screen.count(REMOTE_COLOURS) >= REMOTE_PIXELS
                size = {name: os.stat(f"{folder}/{name}").st_size for name in names}
                changed = [name for name in names if before[name] == "remote" and state(name) != "remote"]
                result["fetched"] = status()["cachedBytes"] + sum(size[name] for name in changed if state(name) == "stored")
                result["files"] = len(changed)
                links = [p for p in files_below(stage.home + "/.cache/thumbnails") if os.path.islink(p)]
                result["offered"] = len({os.path.basename(path) for path in links})
                result["written"] = len([p for p in files_below(stage.home + "/.cache/thumbnails")
                                         if not os.path.islink(p) and "/fail/" not in p])
                result["marks"] = len(glob.glob(stage.home + "/.cache/thumbnails/fail/*/*"))
                result["callers"] = status().get("callers")
    result["left"] = left_behind(stage)
    return result
