"""What the sidebar of GNOME shows of a mount, with a stand-in for GIO."""

import importlib.machinery
import importlib.util
import os
import sys
import types
import unittest
from unittest import mock

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cloud-providers",
                       "chatfs-cloud-provider")


def program():
    repository = types.ModuleType("gi.repository")
    repository.Gio, repository.GLib = mock.Mock(), mock.Mock()
    gi = types.ModuleType("gi")
    gi.repository = repository
    loader = importlib.machinery.SourceFileLoader("cloud_provider", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cloud_provider", loader))
    with mock.patch.dict(sys.modules, {"gi": gi, "gi.repository": repository}):
        loader.exec_module(module)
    return module


class Status(unittest.TestCase):
    def test_the_arrow_turns_only_while_something_moves(self):
        module = program()
        for answer, status, words in (
                ({"connected": True, "pending": 0, "failed": 0}, module.IDLE, "Everything"),
                ({"connected": True, "pending": 2, "failed": 1}, module.SYNCING, "2 files"),
                ({"connected": True, "pending": 0, "failed": 1}, module.ERROR, "1 file failed"),
                ({"connected": True, "pending": 2, "suspended": True}, module.IDLE, "Suspended"),
                ({"connected": False, "pending": 2}, module.ERROR, "cannot be reached")):
            found, details = module.status_of(answer)
            self.assertEqual(found, status, answer)
            self.assertIn(words, details)


class Questions(unittest.TestCase):
    def setUp(self):
        self.module = program()
        self.module.GLib.timeout_add.return_value = 7
        self.module.GLib.Variant.side_effect = lambda _, value: value
        with mock.patch.object(self.module, "Conversation") as conversation:
            self.objects = mock.Mock()
            self.account = self.module.Account(self.objects, "/run/chatfs/9.socket", lambda _: None)
            self.asked = conversation.return_value.say
        self.hear = self.account._heard
        self.hear({"chatfs": 1, "mountpoint": "/home/ann/Chats", "profile": "ann"})

    def asks(self):
        return [call.args[0]["id"] for call in self.asked.call_args_list if call.args[0]["method"] == "get_sync_status"]

    def timers(self):
        return self.module.GLib.timeout_add.call_count

    def answer(self, number, **members):
        self.hear({"id": number, "result": {"status": members}})

    def test_it_hears_of_no_entries(self):
        self.assertEqual(self.asked.call_args_list[0].args[0], {"id": 0, "method": "subscribe", "what": "status"})

    def test_a_thousand_events_cause_one_question(self):
        self.assertEqual(self.asks(), [1])
        for _ in range(1000):
            self.hear({"event": "item_changed"})
        self.assertEqual((self.asks(), self.timers()), ([1], 0), "the first answer is awaited")
        self.answer(1, connected=True, pending=1000)
        self.assertEqual(self.timers(), 1)
        for _ in range(1000):
            self.hear({"event": "item_changed"})
        self.account._ask()
        self.assertEqual((self.asks(), self.timers()), ([1, 2], 1))
        self.answer(2, connected=True, pending=0)
        self.assertEqual((self.asks(), self.timers()), ([1, 2], 1), "nothing happened since")
        changed = self.objects.change.call_args.args[1]
        self.assertEqual(changed["Status"], self.module.IDLE)

    def test_a_suspension_is_asked_for(self):
        self.answer(1, connected=True, pending=2)
        self.hear({"event": "suspended"})
        self.account._ask()
        self.answer(2, connected=True, pending=2, suspended=True)
        self.assertEqual(self.objects.change.call_args.args[1]["StatusDetails"], "Suspended")


if __name__ == "__main__":
    unittest.main()
