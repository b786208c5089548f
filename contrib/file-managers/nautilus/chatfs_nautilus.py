"""Emblems and a context menu for the entries of ChatFS mounts, for Nautilus (nautilus-python).

Nautilus asks for the information about one file after the other, and again when the mount raises an event for it. The
attributes are read by GIO's threads; what was read last stands with each file and decides what its menu offers, so the
main loop waits for nothing.
"""

import os
import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, GObject, Gtk, Nautilus  # noqa: E402

sys.path.append("@LIBRARY@" if os.path.isabs("@LIBRARY@") else os.path.dirname(__file__) + "/../common")
from chatfs_entries import ATTRIBUTES, Entry, Mounts, offers, question  # noqa: E402

PROGRAM = "chatfs-file-action"
# GIO's name of user.chatfs.….
XATTR = "xattr::chatfs."
# The names of what is kept with a file.
KEPT = "chatfs-"
# Characters of a problem that are shown.
SHOWN = 4000


class ChatFS(GObject.GObject, Nautilus.InfoProvider, Nautilus.MenuProvider):
    def __init__(self):
        super().__init__()
        self._mounts = Mounts()
        # What Nautilus waits for; what it no longer waits for is not in it.
        self._running = {}
        self._next = 0

    # Emblems.

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
            ",".join(XATTR + name for name in ATTRIBUTES), Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS,
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
            values = {name: info.get_attribute_as_string(XATTR + name) or "" for name in ATTRIBUTES}
        except GLib.Error:
            values = {}
        if key not in self._running:
            return
        handle, _ = self._running.pop(key)
        # What was there before is another's, or of another state.
        for name in ATTRIBUTES:
            file.add_string_attribute(KEPT + name, values.get(name, ""))
        emblem = best(Entry(**values).emblems)
        if emblem:
            file.add_emblem(emblem)
        Nautilus.info_provider_update_complete_invoke(closure, provider, handle, Nautilus.OperationResult.COMPLETE)

    # The menu.

    def get_file_items(self, *arguments):
        # Before version 4 of the interface, a window came first.
        files = arguments[-1]
        entries = [Entry(**{name: file.get_string_attribute(KEPT + name) or "" for name in ATTRIBUTES}) for file in files]
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
        elif action.question:
            dialog = message(Gtk.MessageType.QUESTION, Gtk.ButtonsType.OK_CANCEL, question(action, entries))
            dialog.connect("response", lambda _, answer: answer == Gtk.ResponseType.OK and run(action, paths))
        else:
            run(action, paths)


def best(icons):
    """The first that the theme has."""
    theme = Gtk.IconTheme.get_for_display(Gdk.Display.get_default())
    return next((icon for icon in icons if theme.has_icon(icon)), None)


def run(action, paths):
    flags = Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_SILENCE | Gio.SubprocessFlags.STDERR_PIPE
    try:
        process = Gio.Subprocess.new([PROGRAM, action.name], flags)
    except GLib.Error as error:
        tell(error.message)
        return
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    process.communicate_async(GLib.Bytes.new(data), None, has_run)


def has_run(process, result):
    try:
        _, _, problems = process.communicate_finish(result)
    except GLib.Error as error:
        tell(error.message)
        return
    if not process.get_successful():
        tell(problems.get_data().decode(errors="replace")[:SHOWN].strip() or "It did not work.")


def tell(sentence):
    message(Gtk.MessageType.ERROR, Gtk.ButtonsType.CLOSE, sentence)


def message(kind, buttons, text):
    application = Gio.Application.get_default()
    window = application.get_active_window() if isinstance(application, Gtk.Application) else None
    dialog = Gtk.MessageDialog(transient_for=window, modal=window is not None, message_type=kind, buttons=buttons,
                               text="ChatFS", secondary_text=text)
    dialog.connect_after("response", lambda dialog, _: dialog.destroy())
    dialog.present()
    return dialog
