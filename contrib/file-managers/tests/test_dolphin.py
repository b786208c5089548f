"""What Dolphin's plugins show of other people's names. Skipped without the headers of Qt."""

import os
import shutil
import subprocess
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
            for name in ("Bob", "<b>Bob</b> <img src=/etc/passwd>", "a&amp;b & c", "Zoë < Eve"):
                shown = subprocess.run([program, f"Send a text to {name}:"], capture_output=True, text=True, check=True,
                                       env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": folder,
                                            "XDG_RUNTIME_DIR": folder})
                self.assertEqual(shown.stdout, f"Send a text to {name}:\n")


if __name__ == "__main__":
    unittest.main()
