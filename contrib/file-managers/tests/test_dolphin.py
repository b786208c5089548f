"""Parts of Dolphin's plugins. Skipped without the headers of Qt."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DOLPHIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dolphin")
# Prints the text of a label as a user sees it.
PROGRAM = """
#include "ActionProcess.h"
#include <QTextDocument>
#include <cstdio>
int main(int count, char **words) {
    QApplication application(count, words);
    const QString label = ActionProcess::plainLabel(QString::fromUtf8(words[1]));
    QTextDocument document;
    if (Qt::mightBeRichText(label))
        document.setHtml(label);
    else
        document.setPlainText(label);
    std::puts(document.toPlainText().toUtf8().constData());
}
"""

PLUGIN = """
#include "Entry.h"
extern "C" void *pool(const char *mountpoint) { return &readers(mountpoint); }
"""


def flags(library):
    if not shutil.which("pkg-config") or not shutil.which("c++"):
        return None
    found = subprocess.run(["pkg-config", "--cflags", "--libs", library], capture_output=True, text=True, check=False)
    return found.stdout.split() if found.returncode == 0 else None


@unittest.skipUnless(flags("Qt5Widgets"), "needs a C++ compiler and qtbase5-dev")
class Labels(unittest.TestCase):
    def test_names_of_chats_are_no_markup(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/label.cpp", "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            program = folder + "/label"
            subprocess.run(["c++", "-std=c++17", "-fPIC", "-I" + DOLPHIN, folder + "/label.cpp", "-o", program,
                            *flags("Qt5Widgets")], check=True)
            for name in ("Bob", "<b>Bob</b> <img src=/etc/passwd>", "a&amp;b & c", "Zoë < Eve", "Eve\n\n<h1>relay.example</h1>"):
                shown = subprocess.run([program, f"Send a text to {name}:"], capture_output=True, text=True, check=True,
                                       env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": folder,
                                            "XDG_RUNTIME_DIR": folder})
                self.assertEqual(shown.stdout, f"Send a text to {name}:\n")


@unittest.skipUnless(flags("Qt5Core"), "needs a C++ compiler and qtbase5-dev")
class Threads(unittest.TestCase):
    def test_a_menu_does_not_wait_for_the_marks_of_a_folder(self):
        """The plugin for menus offers nothing while its thread reads, so no other plugin may use that thread."""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/plugin.cpp", "w", encoding="utf-8") as file:
                file.write(PLUGIN)
            plugins = [folder + "/a.so", folder + "/b.so"]
            for plugin in plugins:
                subprocess.run(["c++", "-std=c++17", "-fPIC", "-shared", "-I" + DOLPHIN, "-I" + DOLPHIN + "/../common",
                                folder + "/plugin.cpp", "-o", plugin, *flags("Qt5Core")], check=True)
            script = ("import ctypes, sys\nfor path in sys.argv[1:]:\n    pool = ctypes.CDLL(path).pool\n"
                      "    pool.restype = ctypes.c_void_p\n    pool.argtypes = [ctypes.c_char_p]\n"
                      "    print(pool(b'/a'), pool(b'/b'), pool(b'/a'), flush=True)\nimport os\nos._exit(0)")
            pools = subprocess.run([sys.executable, "-c", script, *plugins], capture_output=True, text=True, check=True)
            lines = [line.split() for line in pools.stdout.splitlines()]
            self.assertEqual([line[0] == line[2] for line in lines], [True, True], "one pool of a mount")
            self.assertEqual(len(set(sum(lines, []))), 4, "each plugin and each mount has its own")


if __name__ == "__main__":
    unittest.main()
