"""Emblems, columns, properties and a context menu for the entries of ChatFS mounts, for Nautilus (nautilus-python).

Nautilus asks for the information about one file after the other, and again when the mount raises an event for it. The
attributes are read by GIO's threads; what was read last stands with each file and decides what its menu offers, so the
main loop waits for nothing.
"""

import html
import os
import re
import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, GObject, Gtk, Nautilus  # noqa: E402

sys.path.append("@LIBRARY@" if os.path.isabs("@LIBRARY@") else os.path.dirname(__file__) + "/../common")
import chatfs_words as words  # noqa: E402
from chatfs_entries import ATTRIBUTES, CHAT, CHAT_ATTRIBUTE, MOVING, Entry, Mounts, offers, question  # noqa: E402

PROGRAM = "chatfs-file-action"
# GIO's name of user.chatfs.….
XATTR = "xattr::chatfs."
READ = (*ATTRIBUTES, "sender", CHAT_ATTRIBUTE)
# The names of the data attached to a file.
KEPT = "chatfs-"
# Those of the columns.
STATE, SENDER = KEPT + "column-state", KEPT + "column-sender"
# The number of visible characters of a text.
SHOWN = 4000
# The answer of a button that the action offers.
OFFERED = 1
# Milliseconds until a file on its way is read once more.
AGAIN = 1000
# The minor version of GTK from which Nautilus (45) reads the values of properties as markup.
MARKUP = 12


class ChatFS(GObject.GObject, Nautilus.InfoProvider, Nautilus.MenuProvider, Nautilus.ColumnProvider,
             Nautilus.PropertiesModelProvider):
    def __init__(self):
        super().__init__()
        self._mounts = Mounts()
        # The pending requests of Nautilus, without cancelled ones.
        self._running = {}
        self._next = 0

    # Emblems and columns.

    def update_file_info_full(self, provider, handle, closure, file):
        location = file.get_location()
        path = location.get_path()
        if path is None or self._mounts.point(path) is None:
            return Nautilus.OperationResult.COMPLETE
        self._next += 1
        key = self._next
        cancellable = Gio.Cancellable()
        self._running[key] = (handle, cancellable)
        location.query_info_async(
            ",".join(XATTR + name for name in READ), Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS,
            GLib.PRIORITY_DEFAULT, cancellable, self._has_read, (key, provider, closure, file))
        return Nautilus.OperationResult.IN_PROGRESS

    def cancel_update(self, provider, handle):
        for key, (other, cancellable) in list(self._running.items()):
            if other == handle:
                del self._running[key]
                cancellable.cancel()

    def _has_read(self, location, result, request):
        key, provider, closure, file = request
        try:
            info = location.query_info_finish(result)
            values = {name: unescaped(info.get_attribute_as_string(XATTR + name) or "") for name in READ}
        except GLib.Error:
            values = dict.fromkeys(READ, "")
        if key not in self._running:
            return
        handle, _ = self._running.pop(key)
        sender, chat = values.pop("sender"), values.pop(CHAT_ATTRIBUTE)
        if chat and not values["state"]:
            values["state"] = CHAT
        entry = Entry(**values)
        # The previous emblems belong to another file or state.
        for name in ATTRIBUTES:
            file.add_string_attribute(KEPT + name, values[name])
        file.add_string_attribute(STATE, "" if entry.state in ("", CHAT) else words.state(entry))
        file.add_string_attribute(SENDER, "You" if entry.direction == "sent" else words.one_line(sender))
        if entry.emblem:
            file.add_emblem(entry.emblem)
        if entry.emblem == MOVING:
            GLib.timeout_add(AGAIN, self._read_again, file, entry.state)
        Nautilus.info_provider_update_complete_invoke(closure, provider, handle, Nautilus.OperationResult.COMPLETE)

    # Nautilus forgets a change that it hears of while it reads the file. Changes follow each other at once only while a
    # file is on its way.

    def _read_again(self, file, state):
        file.get_location().query_info_async(
            XATTR + "state", Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS, GLib.PRIORITY_DEFAULT, None,
            self._has_read_again, (file, state))
        return GLib.SOURCE_REMOVE

    def _has_read_again(self, location, result, request):
        file, state = request
        try:
            is_changed = location.query_info_finish(result).get_attribute_as_string(XATTR + "state") != state
        except GLib.Error:
            # Nautilus hears of a deletion by itself.
            return
        if is_changed:
            file.invalidate_extension_info()

    def get_columns(self, *_):
        return [Nautilus.Column(name="ChatFS::state", attribute=STATE, label="Chat State",
                                description="Where a file of a chat stands"),
                Nautilus.Column(name="ChatFS::sender", attribute=SENDER, label="Sender",
                                description="Who sent a file of a chat")]

    # The properties of one entry.

    def get_models(self, files):
        path = files[0].get_location().get_path() if len(files) == 1 else None
        if path is None or self._mounts.point(path) is None or not kept(files[0]).state:
            return []
        if kept(files[0]).state == CHAT:
            return []
        rows = Gio.ListStore.new(Nautilus.PropertiesItem)
        start("describe", [path], lambda text, *_: fill(rows, text))
        return [Nautilus.PropertiesModel(title="Chat", model=rows)]

    # The menu.

    def get_file_items(self, *arguments):
        # Before version 4 of the interface, a window came first.
        files = arguments[-1]
        entries = [kept(file) for file in files]
        items = []
        for action, places in offers(entries):
            item = Nautilus.MenuItem(name="ChatFS::" + action.name, label=action.label, icon=action.icon)
            item.connect("activate", self._chosen, action, [files[place] for place in places],
                         [entries[place] for place in places])
            items.append(item)
        return items

    def get_background_items(self, *_):
        return []

    def _chosen(self, _, action, files, entries):
        paths = [path for path in (file.get_location().get_path() for file in files) if path]
        if action.name == "copy-link":
            Gdk.Display.get_default().get_clipboard().set("\n".join(entry.link for entry in entries))
        elif action.name == "send-text":
            ask_text(paths)
        elif action.question:
            dialog = message(Gtk.MessageType.QUESTION, Gtk.ButtonsType.OK_CANCEL, question(action, entries))
            dialog.connect("response", lambda _, answer: answer == Gtk.ResponseType.OK and run(action.name, paths))
        else:
            run(action.name, paths)


def unescaped(value):
    """An attribute as it is: GIO writes all bytes outside of ASCII, and backslashes, as \\x and two digits."""
    plain = re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), value.encode())
    return plain.decode(errors="replace")


def kept(file):
    """The attributes of a file that were read last."""
    return Entry(**{name: file.get_string_attribute(KEPT + name) or "" for name in ATTRIBUTES})


def fill(rows, text):
    label, value = "", []
    for line in [*text.split("\n"), "\x00\t"]:
        if line.startswith("\t"):
            value.append(line[1:])
            continue
        if label:
            text = "\n".join(value)
            rows.append(Nautilus.PropertiesItem(
                name=label, value=html.escape(text, quote=False) if Gtk.get_minor_version() >= MARKUP else text))
        label, _, first = line.partition("\t")
        value = [first]


def start(name, paths, ended, text=""):
    """Performs an action. 'ended' gets its message, its success, and its button."""
    flags = Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE
    try:
        process = Gio.Subprocess.new([PROGRAM, name], flags)
    except GLib.Error as error:
        ended(error.message, False, None)
        return
    data = b"".join(os.fsencode(path) + b"\0" for path in paths) + (b"\0" + text.encode() if text else b"")
    process.communicate_async(GLib.Bytes.new(data), None, has_ended, ended)


def has_ended(process, result, ended):
    try:
        _, said, problems = process.communicate_finish(result)
    except GLib.Error as error:
        ended(error.message, False, None)
        return
    text = said.get_data().decode(errors="replace")
    first, _, rest = text.partition("\n")
    parts = first.split("\t")
    button = (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "button" else None
    if button:
        text = rest
    if not process.get_successful():
        text = problems.get_data().decode(errors="replace").strip() or "It did not work."
    ended(text[:SHOWN].strip(), process.get_successful(), button)


def run(name, paths, text=""):
    start(name, paths, lambda said, is_done, button: tell(said, is_done, button, paths), text)


def tell(text, is_done, button, paths):
    if is_done and not text:
        return
    dialog = message(Gtk.MessageType.INFO if is_done else Gtk.MessageType.ERROR, Gtk.ButtonsType.CLOSE, text)
    if button:
        dialog.add_button(button[1], OFFERED)
        dialog.connect("response", lambda _, answer: answer == OFFERED and run(button[0], paths))


def ask_text(paths):
    names = ", ".join(os.path.basename(path) for path in paths)
    dialog = message(Gtk.MessageType.OTHER, Gtk.ButtonsType.OK_CANCEL, "Send a text to " + names)
    # Tab goes on to the buttons.
    view = Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD_CHAR, accepts_tab=False)
    window = Gtk.ScrolledWindow(child=view, min_content_height=120, has_frame=True)
    dialog.get_message_area().append(window)
    view.grab_focus()

    def answered(_, answer):
        buffer = view.get_buffer()
        text = buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), False)
        if answer == Gtk.ResponseType.OK and text.strip():
            run("send-text", paths, text)

    dialog.connect("response", answered)


def message(kind, buttons, text):
    application = Gio.Application.get_default()
    window = application.get_active_window() if isinstance(application, Gtk.Application) else None
    dialog = Gtk.MessageDialog(transient_for=window, modal=window is not None, message_type=kind, buttons=buttons,
                               text="ChatFS", secondary_text=text)
    dialog.connect_after("response", lambda dialog, _: dialog.destroy())
    dialog.present()
    return dialog
