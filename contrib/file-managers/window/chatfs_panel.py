"""What the window of ChatFS shows and does, without a toolkit: rows made of what commands and mounts say."""

import json
import os
import socket
import subprocess
import sys
from typing import NamedTuple

# Installed, it is in the same folder.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import chatfs_words as words  # noqa: E402
from chatfs_entries import Entry  # noqa: E402

# Of a line of a mount, in bytes; seconds that a mount or a command may take.
LIMIT = 1 << 20
PATIENCE = 20
# The same if the desktop may ask its user to unlock the keyring.
PATIENCE_WITH_USER = 90
# Files that stopped which are shown of a mount.
MOST = 20
MOVING = ("queued", "sending", "receiving")
BY_KEYRING = "The keyring of the desktop opens them"
WAITS = "The other side has not answered yet. You need not wait: the contact appears when it does."


class Action(NamedTuple):
    """What a button does: a command, or a request to the socket of a mount."""
    label: str
    command: tuple = ()
    socket: str = ""
    request: tuple = ()


class Row(NamedTuple):
    title: str
    detail: str
    actions: tuple = ()


def size(count):
    """1234567 is 1.2 MB, as the commands write it."""
    if count < 1000:
        return f"{count} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.5 or unit == "TB":
            return f"{count:.1f} {unit}" if count < 99.95 else f"{count:.0f} {unit}"


def files(number):
    return "1 file" if number == 1 else f"{number} files"


def totals(transfers):
    moving = [transfer for transfer in transfers if transfer["state"] in MOVING]
    if not moving:
        return "Everything is sent and received"
    done = sum(transfer["size"] * transfer["progress"] // 100 for transfer in moving)
    whole = sum(transfer["size"] for transfer in moving)
    return f"{files(len(moving))} on the way, {size(done)} of {size(whole)}"


def plain(text):
    """Without hints about command lines, which do not help in a window, unless nothing else is said."""
    return words.without_commands(text) or text


def short(path):
    """As the user writes it: '~/Chats'."""
    home = os.environ.get("HOME", "").rstrip("/")
    return "~" + path.removeprefix(home) if home and path.startswith(home + "/") else path


def mount_rows(status):
    """Of one object of 'chatfs status --json'."""
    place = status["mountpoint"]
    if "problem" in status:
        actions = (Action("Take Away", ("unmount", place)),) if status["problem"] == "dead" else ()
        problems = {"dead": "Its process has ended", "silent": "It does not answer"}
        return [Row(short(place), problems.get(status["problem"], "It cannot be asked"), actions)]
    transfers = status.get("transfers", [])
    detail = status.get("coreProblem") or totals(transfers)
    if status.get("suspended") == "user":
        detail = "Suspended"
        actions = (Action("Resume", ("resume", place)),)
    else:
        actions = (Action("Unmount", ("unmount", place)),)
    rows = [Row(f"{status['profile']} at {short(place)}", detail, actions)]
    stopped = [transfer for transfer in transfers if transfer["state"] not in MOVING]
    for transfer in stopped[:MOST]:
        rows.append(Row(transfer["path"], reason(transfer),
                        transfer_actions(transfer, status.get("programSocket", ""))))
    if len(stopped) > MOST:
        rows.append(Row(f"{files(len(stopped) - MOST)} more", "They stopped too"))
    return rows


def reason(transfer):
    """Why a file stopped. Names the relays that a button would approve."""
    entry = entry_of(transfer)
    return words.explanation(entry) if entry.has("relays") else plain(entry.error or entry.state)


def entry_of(transfer):
    return Entry(transfer["state"], error=transfer.get("error") or "")


def transfer_actions(transfer, path):
    """What the socket of the mount at 'path' can do about a file that stopped."""
    if not path:
        return ()
    entry = entry_of(transfer)
    if entry.has("relays") and entry.state == "remote":
        return (Action("Approve Relays", socket=path, request=("approve", {"relays": words.named(words.relays(entry.error))})),)
    if transfer["state"] in ("failed", "unsure", "draft", "recovered"):
        return (Action("Send Again", socket=path, request=("retry", {"path": transfer["path"]})),)
    return ()


def request_row(request):
    """Of one line of 'chatfs requests --json', with its mount: each profile has numbers of its own."""
    answer = (str(request["number"]), *(("--mount", request["mountpoint"]) if "mountpoint" in request else ()))
    group = words.one_line(request.get("group") or "")
    what = f"invites you into the group {group}" if group else "wants to be your contact"
    detail = request.get("problem") or words.one_line(request.get("text") or "")
    return Row(f"{words.one_line(request['name']) or 'A person'} {what}", detail,
               (Action("Accept", ("accept", *answer)), Action("Reject", ("reject", *answer))))


def rows(statuses, requests, lock_words):
    """All rows, the user's own turn first. 'lock_words': why the data is locked; empty if it is not."""
    unlock = Action("Unlock Keyring", ("unlock",)) if lock_words == BY_KEYRING else Action("Unlock…")
    found = [Row("Your chats are locked", lock_words, (unlock,))] if lock_words else []
    found += [request_row(request) for request in requests]
    for status in statuses:
        found += mount_rows(status)
    if not statuses and not lock_words:
        found.append(Row("Nothing is mounted", "Show your chats as folders", (Action("Mount"),)))
    return found


# --- Commands and sockets; all of them block

def run(program, arguments, given="", patience=None):
    """The exit code of a command, what it printed and its last complaint."""
    try:
        # Paths may hold any bytes.
        done = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, errors="replace",
                              timeout=patience or PATIENCE)
    except subprocess.TimeoutExpired:
        # 'accept' waits for the other person, who may be away for days.
        return 1, "", WAITS if arguments[0] == "accept" else "It takes longer than expected."
    except OSError as error:
        return 1, "", str(error)
    complaint = done.stderr.strip().splitlines()[-1:] or [""]
    return done.returncode, done.stdout, plain(complaint[0].removeprefix("chatfs: "))


def ask(path, method, members):
    """One request to a mount. The empty string, or why it was refused."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(path)
            lines = connection.makefile("rwb")
            lines.readline(LIMIT)
            lines.write(json.dumps({"id": 1, "method": method, **members}).encode() + b"\n")
            lines.flush()
            answer = json.loads(lines.readline(LIMIT))
    except (OSError, ValueError) as error:
        return str(error)
    return answer.get("error", {}).get("message", "")


def watch(path, happened):
    """Calls 'happened' after changes of a mount, until the mount ends."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            lines = connection.makefile("rwb")
            lines.write(b'{"id":1,"method":"subscribe","what":"status"}\n')
            lines.flush()
            while lines.readline(LIMIT):
                happened()
    except OSError:
        pass
    happened()


def locked(program):
    """Why the data is locked; empty if it is not, or if there is none."""
    # Completion asks nobody. Other commands would have the keyring ask its user at each look.
    if run(program, ["complete", "profiles"])[1]:
        return ""
    _, output, _ = run(program, ["key", "status", "--json"])
    try:
        status = json.loads(output.partition("\n")[0])
    except ValueError:
        return ""
    if not status.get("encrypted"):
        return ""
    ways = [way.get("kind") for way in status.get("ways", [])]
    return BY_KEYRING if "keyring" in ways and "passphrase" not in ways else "Your passphrase for ChatFS opens them"


def look(program):
    """As 'collect', but None if the answers make no sense: the next look may succeed."""
    try:
        return collect(program)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        print(f"chatfs-window: unexpected answer: {error!r}", file=sys.stderr)
        return None


def collect(program):
    """What there is at this moment: rows, and the sockets of all mounts."""
    _, output, _ = run(program, ["status", "--json"])
    try:
        statuses = json.loads(output) if output.strip() else []
    except ValueError:
        statuses = []
    lock_words = locked(program)
    requests = []
    for status in statuses:
        if "problem" not in status:
            _, output, _ = run(program, ["requests", "--json", "--mount", status["mountpoint"]])
            requests += [json.loads(line) | {"mountpoint": status["mountpoint"]}
                         for line in output.splitlines() if line.startswith("{")]
    sockets = [status["programSocket"] for status in statuses if status.get("programSocket")]
    return rows(statuses, requests, lock_words), sockets
