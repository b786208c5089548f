"""Chooses the items of a chat folder's menu in an open mount, and waits for the effect of each."""

import json
import os
import socket

from acting import Acting
from stage import process, until

# Where the folder of the chat is if it is not the first: Nautilus sorts by bytes here, so Links and Saved notes precede.
PLACE = {"nautilus": (660, 140)}
# The button that answers a question with yes.
YES = {"thunar": "OK", "nautilus": "OK", "dolphin": "Continue"}
TEXT = "words from the menu"


class ChatMenu(Acting):
    """One file manager with bob's mount open. The chat with alice has files."""

    def run(self):
        self.place = PLACE.get(self.name, self.place)
        with process([word.format(folder=self.stage.chats) for word in self.command],
                     f"{self.stage.folder}/{self.name}-3.log", env=self.screen.environment):
            until("the window is there", 30, lambda: self.screen.has_window("Chats"))
            self.screen.fill("Chats")
            until("the chats are seen", 60, lambda: self.screen.shows(*self.place))
            self.screen.rest()
            self.shot("chats")
            self.mark_read()
            self.mute()
            self.send_text()
            self.keep_everything()
            self.save_everything()
        return self.problems

    def mark_read(self):
        self.put("y unread.pdf")
        until("it is unread", 60, lambda: self.seen_chat().get("unread", 0) > 0)
        self.choose("Mark as Read", lambda: self.seen_chat().get("unread", 0) == 0, "chat-menu")

    def mute(self):
        self.choose("Mute or Unmute", lambda: self.seen_chat().get("muted", False))
        self.choose("Mute or Unmute", lambda: not self.seen_chat().get("muted", False))

    def send_text(self):
        def write():
            self.screen.do("type", TEXT)
            self.screen.rest(0.5)
            self.shot("text")
            self.press("button", "OK")

        self.choose("Send a Text…", lambda: self.has_line(f"{self.stage.folder}/a/.chatfs/messages/bob.jsonl", TEXT),
                    answer=write)

    def keep_everything(self):
        self.choose("Keep Everything", lambda: self.is_kept("y unread.pdf"), answer=self.agree)

    def save_everything(self):
        names = set(os.listdir(self.chat))
        # Without a folder for downloads, into the home.
        saved = lambda: os.path.isdir(self.stage.home + "/alice") and names <= set(os.listdir(self.stage.home + "/alice"))
        self.choose("Save Everything", saved, answer=self.agree)

    # Means.

    def choose(self, label, is_done, picture=None, answer=None):
        """Presses an item of the menu of the chat's folder, answers its dialog, and waits for the effect."""
        self.screen.rest(1)
        self.click_first(3)
        self.screen.rest(0.5)
        if picture:
            self.shot(picture)
        before = self.screen.pixels()
        self.press("menu", label)
        if answer:
            self.comes_true(5, lambda: self.screen.difference(before) > 100)
            self.screen.rest(0.5)
            answer()
        if not self.comes_true(30, is_done):
            self.problems.append(f"'{label}' had no effect")
        # Closes the message, or the menu of an item that is not there.
        self.screen.rest(0.5)
        self.screen.do("key", "Escape")

    def agree(self):
        self.press("button", YES[self.name])

    def seen_chat(self):
        """The chat with alice as list_chats describes it (docs/reference/control-socket.md)."""
        with open(self.stage.chats + "/.chatfs/status.json", "rb") as file:
            path = json.load(file)["programSocket"]
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rw") as lines:
            connection.connect(path)
            lines.readline()
            lines.write('{"id":1,"method":"list_chats"}\n')
            lines.flush()
            chats = json.loads(lines.readline())["result"]["chats"]
        return next(chat for chat in chats if chat["folder"] == "alice")

    def is_kept(self, name):
        return self.state(f"{self.chat}/{name}") in ("stored", "hydrated")

    def has_line(self, path, words):
        if not os.path.exists(path):
            return False
        with open(path, encoding="utf-8") as file:
            return any(words in line for line in file)
