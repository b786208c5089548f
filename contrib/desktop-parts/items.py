"""Presses an item of the open menu, or a button of a dialog, by its name, through the accessibility bus (AT-SPI).

    python3 items.py menu|button LABEL [SECONDS]

GTK 3, and the dialogs of Qt, have their items in the tree of the application. Menus of Qt 5 are not in it, and GTK 4
says of no item whether it is on the screen. There the keyboard goes from item to item, each tells its name when it gets
the focus, and the one with the name is pressed. No item is pressed by its position.

Ends with 0 when it was pressed; with 1 and the names that are there when it is not found in time.
Debian: apt install xdotool at-spi2-core gir1.2-atspi-2.0 python3-gi
"""

import subprocess
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

ROLES = {Atspi.Role.MENU_ITEM, Atspi.Role.CHECK_MENU_ITEM, Atspi.Role.PUSH_BUTTON, Atspi.Role.LABEL}
# The key to the next item, and the one that presses it.
KEYS = {"menu": ("Down", "Return"), "button": ("Tab", "space")}
EVENTS = ("object:state-changed:focused", "focus:")
# How deep the tree is searched: GTK 4.18 has a menu within 28 others.
DEPTH = 60
# Of the walk: its longest, and after how many keys in a row without an answer it ends.
STEPS, SILENT = 120, 4
# Seconds for which the tree is searched before the first walk, and in which an item answers a key.
TREE, ANSWER = 1, 0.5


def plain(name):
    """Without the marks of toolkits. GTK 4 says the label of a button twice, with its mnemonic and without."""
    text = name.replace("_", "").replace("&", "").rstrip("….").strip()
    half = text[:len(text) // 2]
    return half if text == f"{half} {half}" else text


def name_of(accessible, depth=3):
    """Its name, or that of the label within it."""
    try:
        name = accessible.get_name()
        if name or depth == 0:
            return name or ""
        children = (accessible.get_child_at_index(index) for index in range(min(accessible.get_child_count(), 8)))
        return next(filter(None, (name_of(child, depth - 1) for child in children if child)), "")
    except GLib.Error:
        # It has closed meanwhile.
        return ""


def place_of(accessible):
    try:
        return accessible.get_index_in_parent()
    except GLib.Error:
        # It has closed meanwhile.
        return -1


def role_of(accessible):
    try:
        return accessible.get_role()
    except GLib.Error:
        # It has closed meanwhile.
        return None


def shown(accessible, depth=0):
    """Everything that can be pressed below it and is on the screen."""
    if depth > DEPTH:
        return
    try:
        states = accessible.get_state_set()
        if accessible.get_role() in ROLES and name_of(accessible) and states.contains(Atspi.StateType.SHOWING):
            yield accessible
        for index in range(min(accessible.get_child_count(), 200)):
            child = accessible.get_child_at_index(index)
            if child:
                yield from shown(child, depth + 1)
    except GLib.Error:
        # It has closed meanwhile.
        return


def press(item):
    actions = item.get_action_iface()
    return bool(actions and actions.get_n_actions() and actions.do_action(0))


def press_in_tree(label, names):
    """Presses the item with the label, if it is on the screen. Adds the names of all."""
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        application = desktop.get_child_at_index(index)
        for item in shown(application) if application else ():
            names.add(name_of(item))
            if plain(name_of(item)) == label and press(item):
                return True
    return False


class Focus:
    """The items that got the focus, as they tell it."""

    def __init__(self):
        self._items = []
        self._listener = Atspi.EventListener.new(self._has_event)
        for event in EVENTS:
            self._listener.register(event)
        # Applications hear of the listener from the registry.
        self._wait(ANSWER)

    def after(self, key):
        """The item that has the focus after the key, or nothing."""
        self._items.clear()
        send(key)
        self._wait(ANSWER, lambda: bool(self._items))
        return self._items[-1] if self._items else None

    def stays(self, item):
        """Whether no other of its kind gets the focus without a key: then the item told of it late, for an earlier key."""
        self._wait(ANSWER)
        return next(other for other in reversed(self._items) if role_of(other) == role_of(item)) is item

    def _has_event(self, event, *_):
        if event.detail1 or event.type.startswith("focus"):
            self._items.append(event.source)

    @staticmethod
    def _wait(seconds, is_done=lambda: False):
        context, end = GLib.MainContext.default(), time.monotonic() + seconds
        while time.monotonic() < end and not is_done():
            if not context.iteration(False):
                time.sleep(0.01)


def send(key):
    subprocess.run(["xdotool", "key", key], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def walk(label, keys, focus, names):
    """Goes from item to item until the one with the label, and presses it. Adds the names of all."""
    forward, press_key = keys
    first, silent = None, 0
    for _ in range(STEPS):
        item = focus.after(forward)
        name = name_of(item) if item else ""
        silent = 0 if name else silent + 1
        if silent == SILENT:
            return False
        if not name:
            continue
        names.add(name)
        if plain(name) == label:
            if not focus.stays(item):
                continue
            send(press_key)
            return True
        # The same again: all of them were there.
        place = (name, place_of(item))
        if place == first:
            return False
        first = first or place
    return False


def main():
    kind, label = sys.argv[1], plain(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    begin, names = time.monotonic(), set()
    focus = None
    while time.monotonic() - begin < seconds:
        if press_in_tree(label, names):
            return
        if time.monotonic() - begin < TREE:
            time.sleep(0.2)
            continue
        focus = focus or Focus()
        if walk(label, KEYS[kind], focus, names):
            return
    sys.exit("not found among: " + ", ".join(sorted(names)))


if __name__ == "__main__":
    main()
