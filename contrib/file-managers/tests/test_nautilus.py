"""The Nautilus extension with stand-ins for GTK and Nautilus, which need a desktop."""

import importlib.util
import os
import sys
import types
import unittest
from unittest import mock

EXTENSION = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nautilus", "chatfs_nautilus.py")


class Rows(list):
    """A Gio.ListStore."""


class Item:
    def __init__(self, name, value):
        self.row = (name, value)


def extension():
    """The module with stand-ins for the desktop's libraries."""
    base = type("Base", (), {})
    nautilus = types.SimpleNamespace(
        InfoProvider=type("InfoProvider", (), {}), MenuProvider=type("MenuProvider", (), {}),
        ColumnProvider=type("ColumnProvider", (), {}), PropertiesModelProvider=type("PropertiesModelProvider", (), {}),
        PropertiesItem=Item, Column=lambda **words: words, PropertiesModel=lambda **words: words,
        MenuItem=mock.Mock(), OperationResult=mock.Mock(), info_provider_update_complete_invoke=mock.Mock())
    gio = mock.Mock()
    gio.ListStore.new.side_effect = lambda kind: Rows()
    repository = types.ModuleType("gi.repository")
    for name, value in {"Gdk": mock.Mock(), "Gio": gio, "GLib": mock.Mock(Error=OSError), "GObject": mock.Mock(GObject=base),
                        "Gtk": mock.Mock(**{"get_minor_version.return_value": 8}), "Nautilus": nautilus}.items():
        setattr(repository, name, value)
    gi = types.ModuleType("gi")
    gi.require_version = lambda *_: None
    gi.repository = repository
    with mock.patch.dict(sys.modules, {"gi": gi, "gi.repository": repository}):
        specification = importlib.util.spec_from_file_location("chatfs_nautilus", EXTENSION)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    return module


class File:
    def __init__(self, path, **attributes):
        self._path = path
        self.attributes = attributes
        self.emblems = []

    def get_location(self):
        return mock.Mock(**{"get_path.return_value": self._path})

    def get_string_attribute(self, name):
        return self.attributes.get(name)

    def add_string_attribute(self, name, value):
        self.attributes[name] = value

    def add_emblem(self, name):
        self.emblems.append(name)


class Information(unittest.TestCase):
    def setUp(self):
        self.module = extension()
        self.module.Mounts = mock.Mock
        self.provider = self.module.ChatFS()

    def tell(self, file, **values):
        self.provider._running[1] = (mock.Mock(), mock.Mock())
        info = mock.Mock()
        info.get_attribute_as_string.side_effect = lambda name: values.get(name.removeprefix(self.module.XATTR))
        location = mock.Mock(**{"query_info_finish.return_value": info})
        self.provider._has_read(location, None, (1, None, None, file))

    def test_columns_show_state_and_sender(self):
        file = File("/mount/Bob/a")
        self.tell(file, state="remote", direction="received", sender="Bob")
        shown = [file.attributes[column["attribute"]] for column in self.provider.get_columns()]
        self.assertEqual(shown, ["Not on this device", "Bob"])
        self.assertEqual(file.emblems, ["emblem-chatfs-remote"])
        self.tell(file, state="sent", direction="sent", sender="Ann")
        self.assertEqual([file.attributes[column["attribute"]] for column in self.provider.get_columns()], ["Sent", "You"])

    def test_a_file_on_its_way_is_read_once_more(self):
        for state, later, times in [("sending", "sent", 1), ("sending", "sending", 0), ("sent", "delivered", 0)]:
            self.module.GLib.timeout_add.reset_mock()
            file = mock.Mock()
            self.tell(file, state=state, direction="sent")
            for call in self.module.GLib.timeout_add.call_args_list:
                _, function, *words = call.args
                self.assertEqual(function(*words), self.module.GLib.SOURCE_REMOVE)
                *_, has_read, request = file.get_location().query_info_async.call_args.args
                info = mock.Mock(**{"get_attribute_as_string.return_value": later})
                has_read(mock.Mock(**{"query_info_finish.return_value": info}), None, request)
            self.assertEqual(file.invalidate_extension_info.call_count, times, (state, later))
            self.assertEqual(self.module.GLib.timeout_add.call_count, int(state == "sending"))

    def test_values_are_read_without_the_escapes_of_gio(self):
        file = File("/mount/Bob/a")
        self.tell(file, state="remote", direction="received", sender="Zo\\xc3\\xab \\x5cx41\\xe2\\x80\\xae")
        self.assertEqual(file.attributes[self.module.SENDER], "Zoë \\x41")

    def test_the_folder_of_a_chat_is_told_by_its_attribute(self):
        folder = File("/mount/Bob")
        self.tell(folder, chat="@4", actions="upload messages")
        self.assertEqual(self.module.kept(folder).state, "chat")
        self.assertEqual([action.name for action, _ in self.module.offers([self.module.kept(folder)])], ["show-messages", "save-all"])
        self.assertEqual(folder.attributes[self.module.STATE], "")
        self.tell(folder)
        self.assertEqual(self.module.kept(folder).state, "")

    def test_properties_are_rows_with_lines(self):
        rows = Rows()
        self.module.fill(rows, "State\tFailed\nReason\tOne.\n\t\n\tTwo.\nRelays\ta")
        self.assertEqual([item.row for item in rows], [("State", "Failed"), ("Reason", "One.\n\nTwo."), ("Relays", "a")])
        self.provider._mounts = mock.Mock(**{"point.return_value": "/mount"})
        file = File("/mount/Bob/a")
        self.tell(file, state="remote")
        with mock.patch.object(self.module, "start") as start:
            models = self.provider.get_models([file])
        self.assertEqual(start.call_args.args[:2], ("describe", ["/mount/Bob/a"]))
        self.assertEqual(models[0]["title"], "Chat")
        self.assertEqual(self.provider.get_models([file, file]), [])

    def test_names_of_others_are_no_markup_of_properties(self):
        for version, value in ((8, "Tom & <b>"), (12, "Tom &amp; &lt;b&gt;")):
            rows = Rows()
            self.module.Gtk.get_minor_version.return_value = version
            self.module.fill(rows, "Sent by\tTom & <b>")
            self.assertEqual([item.row for item in rows], [("Sent by", value)])

    def test_messages_and_buttons_are_separated(self):
        told = []
        for said, problem, is_done in ((b"button\tapprove\tApprove\nIt waits.\n", b"", True), (b"Done.\n", b"", True),
                                       (b"button\tfree-last\tDelete\n", b"a: Last copy.\n", False), (b"", b"", False)):
            process = mock.Mock(**{"get_successful.return_value": is_done})
            data = lambda text: mock.Mock(**{"get_data.return_value": text})
            process.communicate_finish.return_value = (True, data(said), data(problem))
            self.module.has_ended(process, None, lambda *outcome: told.append(outcome))
        self.assertEqual(told, [("It waits.", True, ("approve", "Approve")), ("Done.", True, None),
                                ("a: Last copy.", False, ("free-last", "Delete")), ("It did not work.", False, None)])


if __name__ == "__main__":
    unittest.main()
