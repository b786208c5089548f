"""Texts for users about an entry: no command lines, and a button if an action helps."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import unittest

COMMON = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common")
sys.path.insert(0, COMMON)
import chatfs_words as words  # noqa: E402
from chatfs_entries import Entry  # noqa: E402

RELAYS = ("It is on relays that would see your address. To allow them: chatfs approve xftp://key@relay.example:443 "
          "xftp://key@192.168.1.2:443, inside this machine's own network.")
KILLED = "The program that wrote it was killed. Write it again, or use chatfs retry to send it as it is."


def program():
    loader = importlib.machinery.SourceFileLoader("file_action", COMMON + "/chatfs-file-action")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("file_action", loader))
    loader.exec_module(module)
    return module


class Explanations(unittest.TestCase):
    def test_relays_are_named_with_their_knowledge(self):
        text = words.explanation(Entry("remote", "received", RELAYS))
        self.assertIn("relay.example:443\n192.168.1.2:443\n\nA relay here is inside your own network.", text)
        self.assertIn("see", text)
        self.assertEqual(words.remedy(Entry("remote", "received", RELAYS)), ("approve", "Approve Relays"))

    def test_no_sentence_is_about_a_command(self):
        for error in (RELAYS, KILLED, "Run chatfs approve.", "Mounted without --delete: entries are kept."):
            for state in words.STATES:
                self.assertNotRegex(words.explanation(Entry(state, "received", error)), "chatfs |--")
                self.assertTrue(words.explanation(Entry(state, "sent", error)).strip())
        self.assertTrue(words.explanation(Entry("draft", "sent", KILLED)).startswith("The program that wrote it was killed."))

    def test_the_reason_before_a_command_stays(self):
        refusal = "You want nothing sent to this contact before its security code is verified: 'chatfs contact verify'."
        self.assertEqual(words.explanation(Entry("chat", error=refusal)),
                         "You want nothing sent to this contact before its security code is verified.")
        changed = "The keys have changed. Compare the code over another way: 'chatfs contact verify'."
        self.assertEqual(words.explanation(Entry("chat", error=changed)),
                         "The keys have changed. Compare the code over another way.")

    def test_the_button_has_the_remedy(self):
        for state in ("draft", "recovered"):
            self.assertEqual(words.remedy(Entry(state, "sent", KILLED)), ("retry", "Send As It Is"))
        self.assertEqual(words.remedy(Entry("failed", "sent", "Refused.")), ("retry", "Send Again"))
        self.assertEqual(words.remedy(Entry("remote", "received", "The relay is silent.")), ("hydrate", "Try Again"))
        for state in ("expired", "cancelled", "blocked", "stored"):
            self.assertIsNone(words.remedy(Entry(state, "received", "Gone.")))
        self.assertIn("once more", words.explanation(Entry("expired", "received", "Gone.")))


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.module = program()

    def test_freed_bytes_are_one_sum(self):
        outcome = self.module.Outcome("free", 3)
        for size in (1000, 0, 2500):
            outcome.add("a", size)
        self.assertEqual(outcome.text, "3.5 kB freed (2 files).")

    def test_a_button_is_offered_only_where_it_helps_all(self):
        outcome = self.module.Outcome("explain", 2)
        outcome.add("a", ("Wrong.", ("approve", "Approve Relays")))
        self.assertEqual(outcome.button, ("approve", "Approve Relays"))
        outcome.add("b", ("Gone.", None))
        self.assertIsNone(outcome.button)
        self.assertEqual(outcome.text, "a: Wrong.\n\nb: Gone.")


class Texts(unittest.TestCase):
    def test_amounts_are_written_as_in_file_managers(self):
        for count, text in ((0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999960, "1.0 MB"),
                            (5 * 10 ** 9, "5.0 GB"), (7 * 10 ** 15, "7000.0 TB")):
            self.assertEqual(words.amount(count), text)

    def test_properties_are_rows_of_words(self):
        found = dict(words.rows(Entry("remote", "received", RELAYS), {"sender": "Bob", "expires": 1795387898}, 0))
        self.assertEqual((found["State"], found["Sent by"], found["On this device"]), ("Not on this device", "Bob", "Nothing"))
        self.assertIn("relay.example:443", found["Reason"])
        self.assertIn("2026", found["Relays keep it until"])
        known = dict(words.rows(Entry("stored", "received"), {"relays": ["xftp://k@a.example:443", "xftp://k@b.example", 7]}, 5))
        self.assertEqual(known["Relays"], "a.example:443\nb.example")
        own = dict(words.rows(Entry("sent", "sent"), {"sender": "Ann"}, 1000))
        self.assertEqual(own, {"State": "Sent", "Sent by": "You", "On this device": "1.0 kB"})

    def test_names_of_others_are_one_visible_line(self):
        for name, seen in (("Bob\n\tReason:\u2028 none", "Bob Reason: none"), ("a\u202egpj.exe\u202c", "agpj.exe"),
                           ("Ann\u200b\u00ad\x1b[0m ", "Ann[0m"), ("می\u200cخواهم", "می\u200cخواهم"), ("Zoë 👩\u200d🔬", "Zoë 👩\u200d🔬")):
            self.assertEqual(words.one_line(name), seen)
        self.assertEqual(dict(words.rows(Entry("remote", "received"), {"sender": "Bob\nState"}, 0))["Sent by"], "Bob State")

    def test_a_text_cannot_look_like_another_message(self):
        forged = {"event": "message", "time": "2026-11-28T10:00:00Z", "direction": "received", "sender": "Bob\n",
                  "text": "Hi\r\n2026-11-28 10:01:00  You: I agree\u2028or not"}
        self.assertEqual(words.log([json.dumps(forged)]),
                         "2026-11-28 10:00:00  Bob: Hi\n    2026-11-28 10:01:00  You: I agree\n    or not\n")

    def test_a_log_has_lines_of_authors_and_texts(self):
        lines = [json.dumps(line) for line in (
            {"event": "message", "time": "2026-11-28T10:00:00.5Z", "direction": "received", "sender": "Bob", "text": "Hi"},
            {"event": "edit", "time": "2026-11-28T10:01:00Z", "direction": "sent", "text": "Hello"},
            {"event": "state", "state": "delivered"},
            {"event": "message", "time": "", "direction": "sent", "text": "", "file": {"name": "a.jpg"}})]
        self.assertEqual(words.log([*lines, "nonsense", "[]"]),
                         "2026-11-28 10:00:00  Bob: Hi\n2026-11-28 10:01:00  You (edited): Hello\n  You: [a.jpg]\n")
        self.assertIn("no messages", words.log([]))


if __name__ == "__main__":
    unittest.main()
