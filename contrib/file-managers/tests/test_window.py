"""What the window shows of what commands and mounts say."""

import json
import os
import socket
import sys
import tempfile
import threading
import unittest
import unittest.mock

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "window")
sys.path.insert(0, FOLDER)
import chatfs_panel as panel  # noqa: E402


def status(*transfers, **members):
    return {"profile": "ada", "mountpoint": "/m", "programSocket": "/s", "transfers": list(transfers), **members}


def transfer(state, error=None, size=1000, progress=50):
    found = {"path": "bob/a", "state": state, "size": size, "progress": progress}
    return found | ({"error": error} if error else {})


class Rows(unittest.TestCase):
    def test_quiet_mount_is_one_row(self):
        rows = panel.rows([status()], [], "")
        self.assertEqual([row.title for row in rows], ["ada at /m"])
        self.assertEqual(rows[0].detail, "Everything is sent and received")
        self.assertEqual(rows[0].actions[0].command, ("unmount", "/m"))

    def test_transfers_are_summed(self):
        row = panel.rows([status(transfer("sending"), transfer("queued", size=3000, progress=0))], [], "")[0]
        self.assertEqual(row.detail, "2 files on the way, 500 B of 4.0 kB")

    def test_stopped_files_have_what_helps(self):
        relay = "It is on relays that would see your address: chatfs approve xftp://k@a.example:443, or not."
        found = panel.rows([status(transfer("failed", "No relay."), transfer("remote", relay),
                                   transfer("expired", "Gone."))], [], "")
        self.assertEqual(found[1].actions[0].request, ("retry", {"path": "bob/a"}))
        self.assertEqual(found[2].actions[0].request, ("approve", {"relays": ["xftp://k@a.example:443"]}))
        self.assertEqual(found[3].actions, ())

    def test_relays_are_named_before_their_approval(self):
        error = ("The file is on relays that would see your network address. To allow them: "
                 "chatfs approve xftp://k@a.example:443 xftp://k@b.example:443")
        detail = panel.rows([status(transfer("remote", error))], [], "")[1].detail
        self.assertTrue(detail.endswith("\n\na.example:443\nb.example:443"), detail)
        inner = ("The file is on a relay inside this machine's own network. Approve it only if it is known to you: "
                 "chatfs approve xftp://k@192.168.1.2:443")
        detail = panel.rows([status(transfer("remote", inner))], [], "")[1].detail
        self.assertIn("192.168.1.2:443\n\nA relay here is inside your own network.", detail)

    def test_the_user_comes_first(self):
        requests = [{"number": 3, "name": "Eve", "text": "hi"}, {"number": 4, "name": "Bob", "group": "club"}]
        found = panel.rows([status()], requests, "The data is locked.")
        self.assertEqual([row.title for row in found],
                         ["Your chats are locked", "Eve wants to be your contact",
                          "Bob invites you into the group club", "ada at /m"])
        self.assertEqual(found[1].actions[0].command, ("accept", "3"))

    def test_names_of_strangers_are_one_visible_line(self):
        row = panel.rows([], [{"number": 3, "name": "Eve\n\u202emoc.knab is connected\u200b", "text": "a\nb"}], "")[0]
        self.assertEqual((row.title, row.detail), ("Eve moc.knab is connected wants to be your contact", "a b"))

    def test_complaints_name_no_command_lines(self):
        self.assertEqual(panel.plain("It is locked. Unlock it with --passphrase-fd."), "It is locked.")
        self.assertEqual(panel.plain("It is full: 'chatfs doctor' helps. Free some."), "It is full. Free some.")
        self.assertEqual(panel.plain("Try chatfs unlock."), "Try chatfs unlock.")

    def test_the_home_folder_is_short(self):
        place = {"problem": "dead", "mountpoint": os.path.join(os.environ.setdefault("HOME", "/home/ada"), "Chats")}
        self.assertEqual(panel.rows([place], [], "")[0].title, "~/Chats")
        self.assertEqual(panel.rows([place], [], "")[0].actions[0].command, ("unmount", place["mountpoint"]))
        self.assertEqual(panel.short(os.environ["HOME"] + "s/Chats"), os.environ["HOME"] + "s/Chats")

    def test_dead_mounts_can_be_taken_away(self):
        row = panel.rows([{"mountpoint": "/m", "problem": "dead"}], [], "")[0]
        self.assertEqual(row.actions[0].command, ("unmount", "/m"))

    def test_without_a_mount_there_is_a_button_for_one(self):
        self.assertEqual(panel.rows([], [], "")[0].actions[0].label, "Mount")

    def test_long_lists_are_counted(self):
        found = panel.rows([status(*[transfer("failed")] * 50)], [], "")
        self.assertEqual((len(found), found[-1].title), (22, "30 files more"))

    def test_sizes_are_rounded_as_by_the_commands(self):
        for count, text in ((0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_600, "1.0 MB"), (123_456_789, "123 MB")):
            self.assertEqual(panel.size(count), text)


class Commands(unittest.TestCase):
    """With a program that answers as 'chatfs' does."""

    def collected(self, profiles, keys):
        with tempfile.TemporaryDirectory() as folder:
            program = folder + "/chatfs"
            with open(program, "w") as file:
                file.write("#!/bin/sh\ncase $1 in status) echo '[]' ;; complete) %s ;; key) %s ;; *) >%s/asked ;; esac\n"
                           % (profiles, keys, folder))
            os.chmod(program, 0o700)
            rows = panel.collect(program)[0]
            self.assertFalse(os.path.exists(folder + "/asked"), "a command that may ask the user")
            return [(row.title, row.actions[0].label) for row in rows]

    def test_locked_data_can_be_unlocked(self):
        keys = 'echo \'{"encrypted":true,"path":"/d","ways":[{"kind":"passphrase"},{"kind":"keyring"}]}\''
        self.assertEqual(self.collected("exit 1", keys), [("Your chats are locked", "Unlock…")])
        self.assertEqual(self.collected("true", keys), [("Your chats are locked", "Unlock…")])
        self.assertEqual(self.collected("echo ada", keys), [("Nothing is mounted", "Mount")])

    def test_the_keyring_is_asked_by_a_button(self):
        keys = 'echo \'{"encrypted":true,"path":"/d","ways":[{"kind":"keyring"},{"kind":"recovery-code"}]}\''
        self.assertEqual(self.collected("true", keys), [("Your chats are locked", "Unlock Keyring")])

    def test_requests_are_answered_in_their_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/chatfs", "w") as file:
                file.write("""#!/bin/sh
case "$1 $4" in
"status "*) echo '[{"profile":"a","mountpoint":"/m/a"},{"profile":"b","mountpoint":"/m/b"}]' ;;
"requests /m/b") echo '{"number":3,"name":"Eve","text":""}' ;;
esac
""")
            os.chmod(folder + "/chatfs", 0o700)
            row = panel.collect(folder + "/chatfs")[0][0]
        self.assertEqual([action.command for action in row.actions],
                         [("accept", "3", "--mount", "/m/b"), ("reject", "3", "--mount", "/m/b")])

    def test_a_senseless_answer_is_not_the_last(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("sys.stderr"):
            for answer in ('[{"profile":"a"}]', '["a"]', '{"a":1}', '[{"mountpoint":7,"profile":"a"}]'):
                with open(folder + "/chatfs", "w") as file:
                    file.write(f"#!/bin/sh\ncase $1 in status) echo '{answer}' ;; esac\n")
                os.chmod(folder + "/chatfs", 0o700)
                self.assertIsNone(panel.look(folder + "/chatfs"), answer)
            with open(folder + "/chatfs", "w") as file:
                file.write("#!/bin/sh\nprintf '\\377'\n")
            self.assertIsNotNone(panel.look(folder + "/chatfs"))

    def test_waiting_for_a_person_is_no_error_of_a_program(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(panel, "PATIENCE", 0.2):
            with open(folder + "/chatfs", "w") as file:
                file.write("#!/bin/sh\nexec sleep 60\n")
            os.chmod(folder + "/chatfs", 0o700)
            self.assertEqual(panel.run(folder + "/chatfs", ["accept", "3"]), (1, "", panel.WAITS))
            self.assertEqual(panel.run(folder + "/chatfs", ["mount"])[2], "It takes longer than expected.")

    def test_other_failures_are_no_lock(self):
        mount = [("Nothing is mounted", "Mount")]
        self.assertEqual(self.collected("exit 1", 'echo \'{"encrypted":false}\''), mount)
        self.assertEqual(self.collected("exit 1", "exit 1"), mount)


class Socket(unittest.TestCase):
    def test_a_refusal_is_said(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = folder + "/s"
            listener.bind(path)
            listener.listen()
            heard = []

            def serve():
                connection, _ = listener.accept()
                with connection, connection.makefile("rwb") as lines:
                    lines.write(b'{"chatfs":1}\n')
                    lines.flush()
                    heard.append(json.loads(lines.readline()))
                    lines.write(b'{"id":1,"error":{"code":"refused","message":"No."}}\n')
                    lines.flush()

            thread = threading.Thread(target=serve)
            thread.start()
            self.assertEqual(panel.ask(path, "retry", {"path": "bob/a"}), "No.")
            thread.join()
            self.assertEqual(heard, [{"id": 1, "method": "retry", "path": "bob/a"}])
        self.assertTrue(panel.ask("/nowhere", "retry", {}))

    def test_the_window_hears_that_something_changed_and_of_the_end(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = folder + "/s"
            listener.bind(path)
            listener.listen()
            heard, happened = [], []

            def serve():
                connection, _ = listener.accept()
                with connection, connection.makefile("rwb") as lines:
                    heard.append(json.loads(lines.readline()))
                    lines.write(b'{"event":"status_changed"}\n' * 2)
                    lines.flush()

            thread = threading.Thread(target=serve)
            thread.start()
            panel.watch(path, lambda: happened.append(True))
            thread.join()
            self.assertEqual(heard, [{"id": 1, "method": "subscribe", "what": "status"}])
            self.assertEqual(len(happened), 3)


if __name__ == "__main__":
    unittest.main()
