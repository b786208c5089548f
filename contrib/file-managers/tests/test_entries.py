"""Menu items and emblems of entries: equal in Python and C, and useful in each state."""

import dataclasses
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMON = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common")
ICONS = os.path.join(os.path.dirname(COMMON), "icons")
sys.path.insert(0, COMMON)
import chatfs_words as words  # noqa: E402
from chatfs_entries import ACTIONS, CHAT, KEPT, PROBLEM, Entry, Mounts, header, offers, points, question, relays  # noqa: E402

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(COMMON)))
with open(REPOSITORY + "/docs/user/files.md", encoding="utf-8") as page:
    # FileSystemTests compares this table with the program.
    ROWS = [line.split("|")[1] for line in page.read().partition("\n## States\n")[2].partition("\n## ")[0].splitlines()
            if line.startswith("| `")]
STATES = tuple(word for cell in ROWS for word in re.findall("`([a-z]+)`", cell))
UNKNOWN_RELAY = "It is on relays that would see your address. To allow them: chatfs approve xftp://key@relay.example:443"
INNER_RELAY = ("The file is on a relay inside this machine's own network, which is not contacted unless you allow it: "
               "chatfs approve xftp://key@192.168.1.2:443")
KILLED = "The program that wrote it was killed: write it again, or use chatfs retry to send it as it is."
LINK = "https://relay.example/file#key"
ALL = "upload send_text messages mark_read mute approve keep free"

# Prints the C code's results for the entries on standard input, a line each, separated by tabs.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "chatfs-entry.h"
int main(int count, char **words) {
    char line[4096], *fields[6];
    for (int index = 1; index < count; index++) printf("%d\n", chatfs_mount(words[index]) != NULL);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = line;
        for (int field = 0; field < 6; field++) fields[field] = strsep(&rest, "\t");
        ChatfsEntry entry;
        chatfs_entry_init(&entry, fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]);
        for (size_t index = 0; chatfs_action(index); index++)
            if (chatfs_entry_allows(&entry, chatfs_action(index))) printf("%s ", chatfs_action(index)->name);
        const char *emblem = chatfs_entry_emblem(&entry);
        printf("|%s\n", emblem ? emblem : "");
        chatfs_entry_clear(&entry);
    }
    return 0;
}
"""
# Prints the question about relays of the entries with these errors.
QUESTION = r"""
#include <stdio.h>
#include <string.h>
#include "chatfs-entry.h"
int main(int count, char **words) {
    ChatfsEntry entries[8];
    const ChatfsEntry *chosen[8];
    for (int index = 1; index < count; index++) {
        chatfs_entry_init(&entries[index], "remote", "received", words[index], NULL, NULL, NULL);
        chosen[index - 1] = &entries[index];
    }
    const ChatfsAction *action = NULL;
    for (size_t index = 0; chatfs_action(index); index++)
        if (!strcmp(chatfs_action(index)->name, "approve")) action = chatfs_action(index);
    fputs(chatfs_question(action, chosen, (size_t)count - 1), stdout);
    return 0;
}
"""
MOUNTED_BY = r"""
#include <stdio.h>
#include "chatfs-entry.h"
int main(int count, char **words) {
    static char table[65536];
    fread(table, 1, sizeof table - 1, stdin);
    const char *mount = count == 2 ? chatfs_mount_by(table, words[1]) : NULL;
    if (mount) fputs(mount, stdout);
    return mount ? 0 : 1;
}
"""
MOUNTINFO = (
    b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    b"40 22 0:50 / /home/ann/My\\040Chats rw,nosuid shared:3 - fuse.chatfs chatfs rw\n"
    b"41 22 0:51 / /home/ann/My\\040Chats/inner rw - fuse.chatfs chatfs rw\n"
    b"42 22 0:52 / /mnt/other rw - fuse.sshfs host rw\n"
    b"43 22 0:53 / /mnt/back\\134slash rw - fuse.chatfs chatfs rw\n"
    b"broken\n\n - fuse.chatfs \n1 2 3 4 - fuse.chatfs chatfs rw\n")


def names(entry):
    return [action.name for action in ACTIONS if entry.allows(action)]


def build(folder, source):
    with open(folder + "/chatfs-tables.h", "w") as file:
        file.write(header())
    with open(folder + "/program.c", "w") as file:
        file.write(source)
    subprocess.run(["cc", "-std=gnu11", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-I" + COMMON,
                    "-I" + folder, folder + "/program.c", COMMON + "/chatfs-entry.c", "-o", folder + "/program"], check=True)
    return folder + "/program"


class Offers(unittest.TestCase):
    def test_actions_fit_each_state(self):
        self.assertEqual(names(Entry("remote", "received")), ["hydrate", "pin"])
        self.assertEqual(names(Entry("receiving", "received")), ["pin", "cancel"])
        for state in ("stored", "hydrated"):
            self.assertEqual(names(Entry(state, "received", actions="free")), ["pin", "free"])
            # The core keeps its copy.
            self.assertEqual(names(Entry(state, "received")), ["pin"])
            # Sent files cannot be pinned.
            self.assertEqual(names(Entry(state, "sent")), ["pin"])
        self.assertEqual(names(Entry("sending", "sent")), ["cancel"])
        self.assertEqual(names(Entry("failed", "sent", "Refused.")), ["explain", "retry"])
        self.assertEqual(names(Entry("unsure", "sent", "Unsure.")), ["explain", "retry"])
        for state in ("queued", "sent", "expired", "cancelled", "blocked", "recovered"):
            self.assertEqual(names(Entry(state, "received", "Gone.")), ["explain"])

    def test_the_folder_of_a_chat_has_a_menu_of_its_own(self):
        self.assertEqual(names(Entry(CHAT, actions=ALL)), [
            "send-text", "show-messages", "mark-read", "mute", "approve-all", "keep-all", "save-all"])
        self.assertEqual(Entry(CHAT).emblem, "")
        self.assertEqual(names(Entry(CHAT, error="The keys have changed."))[0], "explain")
        self.assertEqual(Entry(CHAT, error="The keys have changed.").emblem, PROBLEM)

    def test_a_chat_offers_only_what_it_can_do(self):
        # Links, saved notes, and a group of which the user is an observer.
        self.assertEqual(names(Entry(CHAT, actions="upload mark_read mute approve")),
                         ["mark-read", "mute", "approve-all", "save-all"])
        self.assertEqual(names(Entry(CHAT, actions="upload messages")), ["show-messages", "save-all"])
        self.assertNotIn("send-text", names(Entry(CHAT, error="You are an observer.", actions=ALL.replace("send_text ", ""))))
        self.assertEqual(names(Entry(CHAT)), ["save-all"])
        # A word is not found in another.
        self.assertEqual(names(Entry(CHAT, actions="mark_readable unmute keep_none")), ["save-all"])

    def test_unapproved_relays_are_approved_before_receiving(self):
        self.assertEqual(names(Entry("remote", "received", UNKNOWN_RELAY)), ["explain", "approve"])
        self.assertEqual(relays(UNKNOWN_RELAY), ["xftp://key@relay.example:443"])
        self.assertEqual(relays("(xftp://a@one, xftp://b@two:1); no more (and 3 more)"), ["xftp://a@one", "xftp://b@two:1"])

    def test_only_failed_files_are_sent_again(self):
        self.assertEqual(names(Entry("draft", "sent")), [])
        self.assertEqual(names(Entry("draft", "sent", "It stays local.")), ["explain"])
        self.assertEqual(names(Entry("draft", "sent", KILLED)), ["explain", "retry"])
        self.assertEqual(names(Entry("recovered", "sent", KILLED)), ["explain", "retry"])
        self.assertEqual(names(Entry("failed", "received", "Damaged.")), ["explain"])

    def test_a_link_is_copied_wherever_there_is_one(self):
        for state in STATES:
            self.assertIn("copy-link", names(Entry(state, "sent", "", LINK)))

    def test_a_selection_with_a_foreign_file_has_no_actions(self):
        self.assertEqual(offers([]), [])
        self.assertEqual(offers([Entry("remote"), Entry()]), [])

    def test_of_a_selection_each_action_is_for_those_that_allow_it(self):
        found = {action.name: places for action, places in
                 offers([Entry("remote"), Entry("hydrated", "received", actions="free"), Entry("sent"), Entry("remote"),
                         Entry("stored", "received", pinned="yes")])}
        self.assertEqual(found, {"hydrate": [0, 3], "pin": [0, 1, 3], "unpin": [4], "free": [1]})

    def test_pinned_files_are_marked_and_can_be_unpinned(self):
        self.assertEqual(names(Entry("hydrated", "received", pinned="yes")), ["unpin"])
        self.assertEqual(Entry("stored", "received", pinned="yes").emblem, KEPT)
        # Its pending work and its problem have priority.
        self.assertEqual(Entry("remote", pinned="yes").emblem, Entry("remote").emblem)
        self.assertEqual(Entry("stored", error="Damaged.", pinned="yes").emblem, PROBLEM)

    def test_every_state_has_words(self):
        self.assertIn("remote", STATES)
        self.assertEqual(sorted(words.STATES), sorted(STATES))

    def test_every_state_is_marked_and_a_problem_is_seen(self):
        for state in STATES:
            self.assertTrue(os.path.isfile(f"{ICONS}/{Entry(state).emblem}.svg"), state)
        self.assertEqual(Entry("remote", "received", UNKNOWN_RELAY).emblem, PROBLEM)
        marks = [Entry(state).emblem for state in ("remote", "hydrated", "sent", "delivered")]
        self.assertEqual(len(set(marks)), 4, "what others sent is told from what the user sent")
        self.assertEqual(Entry().emblem, "")


class MountTable(unittest.TestCase):
    def test_mountpoints_are_read_as_the_kernel_writes_them(self):
        self.assertEqual(points(MOUNTINFO), ["/home/ann/My Chats", "/home/ann/My Chats/inner", "/mnt/back\\slash"])
        self.assertEqual(points(b""), [])

    def test_a_path_belongs_to_the_innermost_mount(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(MOUNTINFO)
            file.flush()
            # A regular file cannot be polled for changes; only the found mountpoint matters here.
            mounts = Mounts(file.name)
            mounts._points = points(MOUNTINFO)
            mounts._file.close()
            mounts._poll = type("Poll", (), {"poll": lambda self, timeout: []})()
        self.assertEqual(mounts.point("/home/ann/My Chats/inner/a"), "/home/ann/My Chats/inner")
        self.assertEqual(mounts.point("/home/ann/My Chats/x"), "/home/ann/My Chats")
        self.assertEqual(mounts.point("/home/ann/My Chats"), "/home/ann/My Chats")
        self.assertIsNone(mounts.point("/home/ann/My Chats 2/x"))
        self.assertIsNone(mounts.point("/mnt/other/x"))

    def test_question_names_relays_and_warns_of_inner_ones(self):
        approve = next(action for action in ACTIONS if action.name == "approve")
        outer = question(approve, [Entry(error=UNKNOWN_RELAY), Entry(error=UNKNOWN_RELAY)])
        self.assertEqual(outer, approve.question + "\n\nrelay.example:443")
        inner = question(approve, [Entry(error=UNKNOWN_RELAY), Entry(error=INNER_RELAY)])
        self.assertIn("\n\nrelay.example:443\n192.168.1.2:443\n\nA relay here is inside your own network.", inner)

    def test_this_system_has_a_mount_table(self):
        mounts = Mounts()
        self.assertIsNone(mounts.point("/proc/self/status"))
        mounts._file.close()


@unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
class Agreement(unittest.TestCase):
    """The tables of Thunar and Dolphin are equal."""

    def test_of_every_entry(self):
        entries = [Entry(*values) for values in itertools.product(
            STATES + ("", CHAT, "an-unknown-state", "a-state-much-longer-than-any-there-is"), ("", "sent", "received"),
            ("", "Failed.", UNKNOWN_RELAY, KILLED, "chatfs approve"), ("", LINK), ("", "yes"),
            ("", ALL, "upload messages", "unmute keep", "free"))]
        with tempfile.TemporaryDirectory() as folder:
            text = "".join("\t".join(dataclasses.astuple(entry)) + "\n" for entry in entries)
            said = subprocess.run([build(folder, PROGRAM), "/", "/proc"], input=text, stdout=subprocess.PIPE, text=True,
                                  check=True).stdout.splitlines()
        self.assertEqual(said[:2], ["0", "0"], "nothing of ChatFS is mounted there")
        self.assertEqual(len(said) - 2, len(entries))
        for entry, line in zip(entries, said[2:]):
            if entry.state == "a-state-much-longer-than-any-there-is":
                # An unknown state; not an entry.
                self.assertEqual(line, "|")
                continue
            there, icon = line.split("|")
            self.assertEqual(there.split(), names(entry), entry)
            self.assertEqual(icon, entry.emblem, entry)

    def test_of_questions(self):
        approve = next(action for action in ACTIONS if action.name == "approve")
        many = "chatfs approve " + " ".join(f"xftp://key@relay{number}.example" for number in range(20))
        for errors in [(UNKNOWN_RELAY,), (UNKNOWN_RELAY, INNER_RELAY, UNKNOWN_RELAY), (many,), (UNKNOWN_RELAY, ""),
                       ("chatfs approve xftp://no-key", many)]:
            with tempfile.TemporaryDirectory() as folder:
                asked = subprocess.run([build(folder, QUESTION), *errors], stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(asked.stdout, question(approve, [Entry("remote", "received", error) for error in errors]))

    def test_of_the_mount_table(self):
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder, MOUNTED_BY)
            chats = "/home/ann/My Chats"
            outer, inner = "40 " + chats, f"41 {chats}/inner"
            for path, expected in [(chats, outer), (chats + "/a", outer), (chats + " 2", None), (chats + "/inner", inner),
                                   (chats + "/inner/a", inner), (chats + "/inner 2", outer),
                                   ("/mnt/back\\slash/x", "43 /mnt/back\\slash"), ("/mnt/other", None), ("/", None), ("", None)]:
                self.assertEqual(self.mount(program, MOUNTINFO, path), expected, path)

    def test_mounts_one_after_the_other_at_a_place_are_told_apart(self):
        """A thread that waits for the first one is not asked about the second."""
        line = b"%d 22 0:%d / /c rw - fuse.chatfs chatfs rw\n"
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder, MOUNTED_BY)
            self.assertEqual(self.mount(program, line % (40, 50), "/c/a"), "40 /c")
            self.assertEqual(self.mount(program, line % (57, 51), "/c/a"), "57 /c")
            # The later of two covers the other.
            self.assertEqual(self.mount(program, line % (40, 50) + line % (57, 51), "/c/a"), "57 /c")

    def mount(self, program, table, path):
        ended = subprocess.run([program, path], input=table, stdout=subprocess.PIPE, check=False)
        self.assertEqual(ended.returncode, 0 if ended.stdout else 1, path)
        return os.fsdecode(ended.stdout) or None


if __name__ == "__main__":
    unittest.main()
