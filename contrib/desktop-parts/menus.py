"""Presses an item of an open menu, or a button of a dialog, by its name: through the accessibility bus (AT-SPI).

    python3 menus.py LABEL [SECONDS]

Ends with 0 when it was pressed; with 1 and the names that are there when it is not found in time.
"""

import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

ROLES = {Atspi.Role.MENU_ITEM, Atspi.Role.CHECK_MENU_ITEM, Atspi.Role.PUSH_BUTTON, Atspi.Role.LABEL}


def plain(name):
    return name.replace("_", "").replace("&", "").rstrip("….").strip()


def shown(accessible, depth=0):
    """Everything that can be pressed below it and is on the screen."""
    if depth > 25:
        return
    try:
        states = accessible.get_state_set()
        if accessible.get_role() in ROLES and accessible.get_name() and states.contains(Atspi.StateType.SHOWING):
            yield accessible
        for index in range(min(accessible.get_child_count(), 200)):
            child = accessible.get_child_at_index(index)
            if child:
                yield from shown(child, depth + 1)
    except gi.repository.GLib.Error:
        # It has closed meanwhile.
        return


def press(item):
    actions = item.get_action_iface()
    return bool(actions and actions.get_n_actions() and actions.do_action(0))


def main():
    label, seconds = plain(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 10
    end, names = time.monotonic() + seconds, set()
    while time.monotonic() < end:
        desktop = Atspi.get_desktop(0)
        for index in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(index)
            for item in shown(application) if application else ():
                names.add(item.get_name())
                if plain(item.get_name()) == label and press(item):
                    sys.exit(0)
        time.sleep(0.2)
    sys.exit("not found among: " + ", ".join(sorted(names)))


if __name__ == "__main__":
    main()
