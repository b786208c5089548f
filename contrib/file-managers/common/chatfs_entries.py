"""The menu items and emblems of file managers for the entries of a ChatFS mount.

The tables here are the only ones: the Nautilus extension reads them, and what is written in C and C++ includes them as
a header ('python3 chatfs_entries.py'). Nothing here touches a mount: a file manager may call it in its main loop.
"""

import dataclasses
import os
import re
import select


@dataclasses.dataclass(frozen=True)
class Action:
    """An item of the context menu, offered for an entry in one of its states with the needed fact."""

    name: str
    label: str
    icon: str
    # Values of user.chatfs.state, or "chat" for the folder of a chat; none: any.
    states: tuple = ()
    # A fact of an entry, see Entry.has; of a chat, one of its possible actions.
    needs: str = ""
    # The question before the action.
    question: str = ""


ACTIONS = (
    Action("explain", "What Is Wrong?", "dialog-question", (), "problem"),
    Action("hydrate", "Receive Now", "folder-download", ("remote",), "no-relays"),
    Action("pin", "Keep on This Device", "emblem-favorite", ("remote", "receiving", "stored", "hydrated"), "unpinned"),
    Action("unpin", "Stop Keeping", "list-remove", (), "pinned"),
    Action("free", "Free Up Space", "edit-clear", ("stored", "hydrated"), "freeable"),
    Action("approve", "Approve Relays…", "dialog-ok", ("remote", "receiving", "failed"), "relays",
           "The sender has chosen the relays on which a file lies, and whoever runs them sees your network address "
           "when you receive it. Approve the relays of what is selected?"),
    Action("cancel", "Cancel Transfer", "process-stop", ("receiving", "sending")),
    Action("retry", "Send Again…", "view-refresh", ("failed", "unsure", "draft", "recovered"), "resend",
           "Look into the chat first: what is there already may arrive twice. Send what is selected again?"),
    Action("copy-link", "Copy Link", "edit-copy", (), "link"),
    Action("send-text", "Send a Text…", "mail-message-new", ("chat",), "send_text"),
    Action("show-messages", "Show Messages", "text-x-generic", ("chat",), "messages"),
    Action("mark-read", "Mark as Read", "mail-mark-read", ("chat",), "mark_read"),
    Action("mute", "Mute or Unmute", "notification-disabled", ("chat",), "mute"),
    Action("approve-all", "Approve All Relays…", "dialog-ok", ("chat",), "approve"),
    Action("keep-all", "Keep Everything", "emblem-favorite", ("chat",), "keep",
           "Everything that comes in this chat is then received before it expires, however large it is. Keep "
           "everything?"),
    Action("save-all", "Save Everything", "document-save", ("chat",), "",
           "All files of this chat are received and copied into your folder of downloads. Save everything?"),
)

# The emblems (icons/). They are our own, because themes lack some: Adwaita 48 has none for problems. An entry with a
# problem has only that emblem.
PROBLEM = "emblem-chatfs-problem"
KEPT = "emblem-chatfs-kept"
MOVING = "emblem-chatfs-moving"
EMBLEMS = (
    (("unsure", "expired", "cancelled", "blocked", "failed", "recovered"), PROBLEM),
    # For pinned files.
    (("stored", "hydrated"), KEPT),
    (("remote",), "emblem-chatfs-remote"),
    (("receiving", "draft", "queued", "sending"), MOVING),
    (("stored", "hydrated"), "emblem-chatfs-received"),
    (("sent",), "emblem-chatfs-sent"),
    (("delivered",), "emblem-chatfs-delivered"),
)

ATTRIBUTES = ("state", "direction", "error", "link", "pinned", "actions")
# For the folder of a chat, which has no state.
CHAT_ATTRIBUTE = "chat"
CHAT = "chat"

# In the sentence of an entry whose relays are not approved.
RELAY = re.compile(r"xftp://[^\s,;()]+")
# In that sentence for a relay in the user's own network, and the text of the question then.
OWN_NETWORK = "inside this machine's own network"
OWN_NETWORK_WARNING = "A relay here is inside your own network. Approve it only if you know it."
# The maximum number of relays in a question.
MOST_RELAYS = 8


@dataclasses.dataclass(frozen=True)
class Entry:
    """The used extended attributes of an entry; empty without any."""

    state: str = ""
    direction: str = ""
    error: str = ""
    link: str = ""
    pinned: str = ""
    # The possible ones of a chat, or "free" of a file, with spaces between.
    actions: str = ""

    def has(self, fact):
        if fact == "relays":
            return "chatfs approve" in self.error and "xftp://" in self.error
        if fact == "no-relays":
            return not self.has("relays")
        if fact == "problem":
            return self.error != ""
        if fact == "freeable":
            return self.direction == "received" and not self.has("pinned") and self.has("free")
        if fact == "pinned":
            return self.pinned != ""
        if fact == "unpinned":
            return not self.has("relays") and not self.has("pinned")
        if fact == "resend":
            return self.direction == "sent" and (self.state != "draft" or "chatfs retry" in self.error)
        if fact == "link":
            return self.link != ""
        return fact == "" or fact in self.actions.split()

    def allows(self, action):
        return (self.state != "" and (not action.states or self.state in action.states)
                and self.has(action.needs))

    @property
    def emblem(self):
        """The name of an icon, or nothing."""
        if self.state and self.error:
            return PROBLEM
        return next((icon for states, icon in EMBLEMS
                     if self.state in states and (icon != KEPT or self.has("pinned"))), "")


def relays(sentence):
    return RELAY.findall(sentence)


def question(action, entries):
    """The question before the action. Names the hosts of relays."""
    if action.needs != "relays":
        return action.question
    hosts = list(dict.fromkeys(relay.partition("@")[2] for entry in entries for relay in relays(entry.error)))
    text = action.question + "\n\n" + "\n".join(hosts[:MOST_RELAYS] + ["…"] * (len(hosts) > MOST_RELAYS))
    if any(OWN_NETWORK in entry.error for entry in entries):
        text += "\n\n" + OWN_NETWORK_WARNING
    return text


def offers(entries):
    """The actions for a selection, each with the indices of its entries. None if one is no entry."""
    if not entries or not all(entry.state for entry in entries):
        return []
    found = [(action, [place for place, entry in enumerate(entries) if entry.allows(action)]) for action in ACTIONS]
    return [(action, places) for action, places in found if places]


class Mounts:
    """The mounts of ChatFS in the kernel's table, which is read again only after a change."""

    LIMIT = 1 << 20

    def __init__(self, path="/proc/self/mountinfo"):
        self._file = open(path, "rb", buffering=0)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLPRI)
        self._points = None

    def point(self, path):
        """The mountpoint that holds the path, or nothing."""
        if self._points is None or self._poll.poll(0):
            self._points = self._read()
        inside = [point for point in self._points if path == point or path.startswith(point + "/")]
        return max(inside, key=len, default=None)

    def _read(self):
        self._file.seek(0)
        data = b""
        while len(data) < self.LIMIT and (piece := self._file.read(65536)):
            data += piece
        return points(data)


def points(mountinfo):
    """The mountpoints of type fuse.chatfs in the text of /proc/PID/mountinfo."""
    found = []
    for line in mountinfo.split(b"\n"):
        front, _, back = line.partition(b" - ")
        words = front.split(b" ")
        if len(words) > 4 and back.startswith(b"fuse.chatfs "):
            plain = re.sub(rb"\\([0-3][0-7]{2})", lambda match: bytes([int(match[1], 8)]), words[4])
            found.append(os.fsdecode(plain))
    return found


def header():
    """The tables for C."""
    text = lambda word: '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    words = lambda names: text(" " + " ".join(names) + " " if names else "")
    lines = ["/* Made by chatfs_entries.py. */", "#define CHATFS_OWN_NETWORK " + text(OWN_NETWORK),
             "#define CHATFS_OWN_NETWORK_WARNING " + text(OWN_NETWORK_WARNING),
             "#define CHATFS_CHAT_ATTRIBUTE " + text(CHAT_ATTRIBUTE),
             f"#define CHATFS_MOST_RELAYS {MOST_RELAYS}", "static const ChatfsAction chatfs_actions[] = {"]
    for action in ACTIONS:
        members = [text(action.name), text(action.label), text(action.icon), words(action.states), text(action.needs),
                   text(action.question)]
        lines.append("    {" + ", ".join(members) + "},")
    lines += ["};", "static const ChatfsEmblem chatfs_emblems[] = {"]
    lines += ["    {" + words(states) + ", " + text(icon) + "}," for states, icon in EMBLEMS]
    return "\n".join(lines + ["};", ""])


if __name__ == "__main__":
    print(header(), end="")
