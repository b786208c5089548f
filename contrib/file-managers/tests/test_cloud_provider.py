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


if __name__ == "__main__":
    unittest.main()
