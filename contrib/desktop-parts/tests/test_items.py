"""Items are found and pressed by their names, with a stand-in for the accessibility bus."""

import importlib.util
import os
import sys
import types
import unittest
from unittest import mock

ITEMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "items.py")


def items():
    """The module with a stand-in for AT-SPI."""
    repository = types.ModuleType("gi.repository")
    repository.Atspi, repository.GLib = mock.Mock(), mock.Mock(Error=OSError)
    gi = types.ModuleType("gi")
    gi.require_version = lambda *_: None
    gi.repository = repository
    specification = importlib.util.spec_from_file_location("items", ITEMS)
    module = importlib.util.module_from_spec(specification)
    with mock.patch.dict(sys.modules, {"gi": gi, "gi.repository": repository}):
        specification.loader.exec_module(module)
    return module


class Accessible:
    def __init__(self, role, name, *children, is_shown=True):
        self.role, self.name, self.children, self.is_shown = role, name, children, is_shown
        self.pressed = 0

    def get_role(self):
        return self.role

    def get_name(self):
        return self.name

    def get_child_count(self):
        return len(self.children)

    def get_child_at_index(self, index):
        return self.children[index]

    def get_index_in_parent(self):
        return id(self)

    def get_state_set(self):
        return mock.Mock(**{"contains.return_value": self.is_shown})

    def get_action_iface(self):
        return self

    def get_n_actions(self):
        return 1

    def do_action(self, _):
        self.pressed += 1
        return True


class Gone(Accessible):
    def get_name(self):
        raise OSError("gone")


class Keyboard:
    """A menu that is not in the tree: the focus goes around, and some keys are not answered."""

    def __init__(self, *items):
        self.items, self.index, self.keys = items, -1, []

    def after(self, key):
        self.keys.append(key)
        self.index = (self.index + 1) % len(self.items)
        return self.items[self.index]

    def stays(self, _):
        return True


class Tree(unittest.TestCase):
    def setUp(self):
        self.module = items()
        self.item, self.label = self.module.Atspi.Role.MENU_ITEM, self.module.Atspi.Role.LABEL

    def press(self, label, *applications):
        self.module.Atspi.get_desktop.return_value = Accessible(None, "", *applications)
        names = set()
        return self.module.press_in_tree(self.module.plain(label), names), names

    def test_the_item_with_the_name_is_pressed_wherever_it_is(self):
        others = [Accessible(self.item, name) for name in ("_Open", "Receive Now Or Never", "Properties…")]
        wanted = Accessible(self.item, "_Receive Now")
        for place in range(4):
            rows = others[:place] + [wanted] + others[place:]
            is_pressed, _ = self.press("Receive Now", Accessible(None, "thunar", Accessible(None, "menu", *rows)))
            self.assertTrue(is_pressed)
        self.assertEqual((wanted.pressed, [other.pressed for other in others]), (4, [0, 0, 0]))

    def test_hidden_items_and_closed_windows_are_passed_over(self):
        hidden = Accessible(self.item, "Receive Now", is_shown=False)
        found, names = self.press("Receive Now", Accessible(None, "a", hidden, Gone(self.item, "")),
                                  Accessible(None, "b", Accessible(self.item, "Cut")))
        self.assertEqual((found, names, hidden.pressed), (False, {"Cut"}, 0))

    def test_marks_of_toolkits_are_no_part_of_a_name(self):
        for name in ("&Overwrite", "_Overwrite", "Overwrite…", "Over_write", "Over_write Overwrite"):
            self.assertEqual(self.module.plain(name), "Overwrite")

    def test_a_nameless_item_has_the_name_of_its_label(self):
        label = Accessible(self.label, "Receive Now")
        self.assertEqual(self.module.name_of(Accessible(self.item, "", Accessible(None, "", label))), "Receive Now")
        self.assertEqual(self.module.name_of(Gone(self.item, "")), "")


class Walk(unittest.TestCase):
    def setUp(self):
        self.module = items()
        self.sent = []
        self.module.send = self.sent.append

    def walk(self, keyboard, label="Receive Now", keys=("Down", "Return")):
        names = set()
        return self.module.walk(label, keys, keyboard, names), names

    def rows(self, *names):
        return [Accessible(None, name) for name in names]

    def test_it_presses_the_item_that_tells_the_name(self):
        for place in range(4):
            names = ["Open", "Cut", "Copy"]
            names.insert(place, "&Receive Now")
            keyboard = Keyboard(*self.rows(*names))
            self.assertTrue(self.walk(keyboard)[0])
            self.assertEqual(keyboard.keys, ["Down"] * (place + 1))
        self.assertEqual(self.sent, ["Return"] * 4)

    def test_it_presses_nothing_else(self):
        keyboard = Keyboard(*self.rows("Open", "Receive", "Copy"))
        found, names = self.walk(keyboard)
        self.assertEqual((found, names, self.sent), (False, {"Open", "Receive", "Copy"}, []))
        self.assertEqual(len(keyboard.keys), 4, "once around")

    def test_equal_names_do_not_end_it(self):
        keyboard = Keyboard(*self.rows("", "Open With", "Open With", "Receive Now"))
        self.assertTrue(self.walk(keyboard)[0])

    def test_a_late_answer_presses_nothing(self):
        keyboard = Keyboard(*self.rows("Open", "Receive Now", "Free Up Space"))
        keyboard.stays = mock.Mock(return_value=False)
        self.assertFalse(self.walk(keyboard)[0])
        self.assertEqual(self.sent, [])

    def test_the_last_of_a_kind_has_the_focus(self):
        self.module.ANSWER = 0
        focus, window = self.module.Focus(), Accessible("window", "")
        late, item = (Accessible("item", name) for name in ("Receive Now", "Free Up Space"))
        for accessible in (late, item, window):
            focus._has_event(mock.Mock(source=accessible, detail1=1, type="focus:"))
        self.assertEqual((focus.stays(late), focus.stays(item)), (False, True))

    def test_it_ends_where_nothing_answers(self):
        keyboard = Keyboard(None)
        self.assertEqual(self.walk(keyboard), (False, set()))
        self.assertEqual(len(keyboard.keys), self.module.SILENT)


if __name__ == "__main__":
    unittest.main()
