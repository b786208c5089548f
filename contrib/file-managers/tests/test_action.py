"""Messages of chatfs-file-action without a mount, and with a misbehaving one."""

import importlib.machinery
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common", "chatfs-file-action")


def program():
    loader = importlib.machinery.SourceFileLoader("file_action", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("file_action", loader))
    loader.exec_module(module)
    return module


def run(*words, paths=()):
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return subprocess.run([sys.executable, "-B", PROGRAM, *words], input=data, capture_output=True, check=False)


class Strange:
    """A mountpoint whose socket sends a greeting, and then a given line for each received one."""

    def __init__(self, *lines, transfers=()):
        self._folder = tempfile.TemporaryDirectory()
        self.point = self._folder.name
        os.mkdir(self.point + "/.chatfs")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.point + "/s")
        self._listener.listen()
        with open(self.point + "/.chatfs/status.json", "w") as file:
            json.dump({"programSocket": self.point + "/s", "transfers": transfers}, file)
        self.heard = []
        self._thread = threading.Thread(target=self._serve, args=(lines,))
        self._thread.start()

    def _serve(self, lines):
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # It ended without a conversation.
            return
        with connection, connection.makefile("rb") as reader:
            try:
                connection.sendall(lines[0])
                for line in lines[1:]:
                    self.heard.append(json.loads(reader.readline()))
                    connection.sendall(line)
            except (OSError, ValueError):
                pass

    def end(self):
        # Wakes a thread that waits for a conversation.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        self._folder.cleanup()


GREETING = b'{"chatfs":1,"mountpoint":"/x","pid":1,"profile":"ann"}\n'


class Answers(unittest.TestCase):
    def setUp(self):
        self.module = program()

    def carry_out(self, action, *lines):
        mount = Strange(*lines)
        try:
            self.module.carry_out(action, mount.point, mount.point + "/Alice/a.jpg")
        finally:
            mount.end()
        return mount.heard

    def test_it_asks_for_the_path_below_the_mountpoint(self):
        heard = self.carry_out("pin", GREETING, b'{"id":1,"result":{"done":true}}\n')
        self.assertEqual(heard, [{"id": 1, "method": "pin", "path": "Alice/a.jpg"}])

    def test_thousands_of_waiting_files_do_not_matter(self):
        waiting = [{"path": f"Alice/{number}.jpg", "error": "It waits. " * 20} for number in range(10_000)]
        mount = Strange(GREETING, b'{"id":1,"result":{"done":true}}\n', transfers=waiting)
        try:
            self.module.carry_out("pin", mount.point, mount.point + "/Alice/a.jpg")
        finally:
            mount.end()
        self.assertEqual(len(mount.heard), 1)

    def test_the_log_of_a_long_name_is_found_by_its_number(self):
        with tempfile.TemporaryDirectory() as point:
            for name, log in [("Bob", "Bob"), ("x" * 249, "x" * 249), ("x" * 250, None), ("\u00e9" * 127, None)]:
                path = f"{point}/{name}"
                os.mkdir(path)
                self.assertEqual(self.module.log_of(point, path),
                                 f"{point}/.chatfs/messages/{log or os.stat(path).st_ino}.jsonl")

    def test_a_long_name_leaves_room_for_an_ending(self):
        self.assertEqual(self.module.shortened("Bob"), "Bob")
        for letter in "x", "\u00e9", "\U0001f600":
            short = self.module.shortened(letter * (255 // len(letter.encode())))
            self.assertTrue(short and set(short) == {letter})
            self.assertLessEqual(len(short.encode()), 239)

    def test_a_mount_that_hangs_delays_no_other(self):
        real, done = self.module.probe, []
        self.module.Mounts = lambda: unittest.mock.Mock(point=os.path.dirname)
        silence = subprocess.TimeoutExpired("stat", 0)
        self.module.probe = lambda point: unittest.mock.Mock(
            **{"wait.side_effect" if point == "/hung" else "wait.return_value": silence})
        self.module.TASKS = {"pin": lambda action, point, path: done.append(path)}
        outcome = self.module.perform("pin", ["/hung/a", "/fine/b", "/hung/c"])
        self.assertEqual((outcome.problems, done),
                         (["a: The mount does not answer.", "c: The mount does not answer."], ["/fine/b"]))
        # A dead one answers with an error.
        self.module.probe = real
        self.assertEqual(self.module.answering({"/no/such/mount"}), {"/no/such/mount"})

    def test_the_status_is_read_once_for_all_entries(self):
        mount = Strange(GREETING)
        try:
            path = self.module.socket_of(mount.point)
            os.unlink(mount.point + "/.chatfs/status.json")
            self.assertEqual(self.module.socket_of(mount.point), path)
            # A failure is not kept.
            for _ in range(2):
                with self.assertRaises(OSError):
                    self.module.socket_of(mount.point + "/Alice")
        finally:
            mount.end()

    def test_a_file_is_asked_for_until_all_of_it_is_there(self):
        pending = b'{"id":1,"result":{"done":false,"item":{"progress":%d}}}\n'
        heard = self.carry_out("hydrate", GREETING, pending % 10, pending % 20, b'{"id":3,"result":{"done":true}}\n')
        self.assertEqual([line["method"] for line in heard], ["hydrate"] * 3)

    def test_a_refusal_is_told_in_the_words_of_the_mount(self):
        with self.assertRaisesRegex(self.module.Failure, "^It is pinned.$"):
            self.carry_out("cancel", GREETING, b'{"id":1,"error":{"code":"refused","message":"It is pinned."}}\n')

    def test_other_servers_end_with_a_sentence(self):
        for lines in ([b"nonsense\n"], [b"[1]\n"], [b""], [b"x" * 5000], [GREETING, b"{\n"], [GREETING, b""],
                      [b'{"chatfs":2}\n'], [b"{}\n"], [GREETING, b'{"id":1,"error":7}\n'], [GREETING, b"\xff\xfe\n"]):
            with self.assertRaises(self.module.Failure, msg=lines):
                self.carry_out("pin", *lines)

    def test_a_line_without_an_end_is_not_read_for_ever(self):
        self.module.LIMIT = 100000
        with self.assertRaises(self.module.Failure):
            self.carry_out("pin", b"x" * 300000)

    def test_a_folder_without_a_mount_is_said_to_be_none(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(self.module.Failure):
            self.module.carry_out("pin", folder, folder + "/a")


class Chats(unittest.TestCase):
    """A contact may choose the name of another chat's reference, which is then the name of a folder."""

    def setUp(self):
        self.module = program()

    def heard(self, task, first, *lines):
        mount = Strange(GREETING, *lines)
        try:
            with unittest.mock.patch.object(os, "getxattr", lambda path, name: b"@7"):
                task(first, mount.point, mount.point + "/@4")
        finally:
            mount.end()
        return mount.heard

    def test_actions_name_the_reference(self):
        done = b'{"id":1,"result":{"done":true}}\n'
        for task, first, method in ((self.module.send_text, "hello", "send_text"),
                                    (self.module.mark_read, "mark-read", "mark_read"),
                                    (self.module.keep_all, "keep-all", "keep")):
            asked = self.heard(task, first, done)
            self.assertEqual([(line["method"], line["chat"]) for line in asked], [(method, "@7")])
        asked = self.heard(lambda action, point, path: self.module.approve_all(action, point, [path]), "approve-all",
                           b'{"id":1,"result":{"items":[]}}\n')
        self.assertEqual([line["chat"] for line in asked], ["@7"])

    def test_only_named_relays_are_approved(self):
        def items(*hosts):
            error = "Its relays see your address: chatfs approve " + " ".join(f"xftp://k@{host}" for host in hosts)
            return json.dumps({"id": 1, "result": {"items": [{"error": error}]}}).encode() + b"\n"

        asked = {}

        def ask(action, *lines):
            mount = Strange(GREETING, *lines)
            asked["again"] = Strange(GREETING, b'{"id":1,"result":{"done":true}}\n')
            points = [mount, asked["again"]]
            made = self.module.Mount
            try:
                with (unittest.mock.patch.object(os, "getxattr", lambda path, name: b"@7"),
                      unittest.mock.patch.object(self.module, "Mount", lambda point: made(points.pop(0).point))):
                    return self.module.approve_all(action, mount.point, [mount.point + "/Bob"])
            finally:
                mount.end()
                asked["again"].end()

        many = [f"{number}.example" for number in range(20)]
        text, button = ask("approve-all", items(*many))
        self.assertTrue("7.example" in text and "8.example" not in text, text)
        # Another file arrived meanwhile.
        text, other = ask(button[0], items("evil.example", *many))
        self.assertIn("evil.example", text)
        self.assertEqual(asked["again"].heard, [])
        self.assertIn("choose this again", ask(button[0], items(*many)))
        self.assertEqual(asked["again"].heard[0]["relays"], [f"xftp://k@{host}" for host in many[:8]])
        self.assertNotEqual(button, other)

    def test_only_the_own_chat_is_unmuted(self):
        chats = b'{"id":1,"result":{"chats":[{"chat":"@4","folder":"Bob","muted":true},{"chat":"@7","folder":"@4"}]}}\n'
        asked = self.heard(self.module.mute, "mute", chats, b'{"id":2,"result":{"done":true}}\n')
        self.assertEqual([(line["method"], line.get("chat")) for line in asked], [("list_chats", None), ("mute", "@7")])

    def test_other_folders_are_no_chats(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(self.module.Failure, "not the folder"):
            self.module.chat_of(folder + "/.chatfs")


class Commands(unittest.TestCase):
    def test_a_file_outside_is_named_with_a_sentence(self):
        ended = run("hydrate", paths=["/etc/hostname", b"/tmp/\xff"])
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr.splitlines()[0], b"hostname: It is in no mount of ChatFS.")
        self.assertEqual(len(ended.stderr.splitlines()), 2)

    def test_errors_of_the_system_are_sentences(self):
        module = program()
        full = OSError(28, "No space left on device")
        with (unittest.mock.patch.dict(module.TASKS, {"show-messages": unittest.mock.Mock(side_effect=full)}),
              unittest.mock.patch.object(module, "Mounts", lambda: unittest.mock.Mock(**{"point.return_value": "/m"}))):
            outcome = module.perform("show-messages", ["/m/Bob"])
        self.assertEqual(outcome.problems, ["Bob: It failed: No space left on device."])

    def test_of_many_problems_a_few_are_told(self):
        ended = run("pin", paths=[f"/none/{number}" for number in range(40)])
        self.assertEqual(len(ended.stderr.splitlines()), 11)
        self.assertEqual(ended.stderr.splitlines()[-1], b"And 30 more.")

    def test_nothing_is_done_for_nothing(self):
        self.assertEqual(run("hydrate").returncode, 0)
        self.assertEqual(run("hydrate", paths=["relative"]).returncode, 0)

    def test_unknown_actions_are_errors_of_the_caller(self):
        for words in ((), ("copy-link",), ("delete",), ("dehydrate",), ("pin", "more")):
            self.assertEqual(run(*words).returncode, 64)


if __name__ == "__main__":
    unittest.main()
