"""The texts of file managers about an entry: its state, its problem and the remedy."""

import json
import re
import time
import unicodedata

from chatfs_entries import ACTIONS, MOST_RELAYS, OWN_NETWORK, OWN_NETWORK_WARNING, relays

# By value of user.chatfs.state.
STATES = {
    "remote": "Not on this device", "receiving": "Being received", "stored": "On this device, encrypted",
    "hydrated": "On this device", "draft": "Not sent yet", "queued": "Waiting to be sent", "sending": "Being sent",
    "sent": "Sent", "delivered": "Sent and delivered", "unsure": "Perhaps sent", "expired": "No longer available",
    "cancelled": "Cancelled", "blocked": "Blocked by the relay", "failed": "Failed", "recovered": "Left unfinished",
}
# Commands are no remedy in a window.
COMMAND = re.compile(r"(^|[\s'])(--[a-z]|chatfs [a-z])")
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def one_line(text):
    """Other people's text as one line, without characters that are invisible, or change the direction of the text.
    Joiners stay, which some scripts need."""
    kept = (" " if letter.isspace() else letter for letter in text
            if letter.isspace() or letter in "\u200c\u200d" or unicodedata.category(letter) not in ("Cc", "Cf"))
    return " ".join("".join(kept).split())


def state(entry):
    return STATES.get(entry.state, entry.state)


def without_commands(text):
    """Its sentences without a command, and the others up to a colon before the command. May be empty."""
    kept = []
    for sentence in SENTENCE.split(text):
        command = COMMAND.search(sentence)
        before = sentence[:command.start() + 1].rstrip(" '") if command else ""
        if not command:
            kept.append(sentence)
        elif before.endswith(":"):
            kept.append(before[:-1] + ".")
    return " ".join(kept)


def host(address):
    return address.partition("@")[2] or address


def hosts(addresses):
    """The names of relays, up to a limit."""
    found = list(dict.fromkeys(host(address) for address in addresses))
    return found[:MOST_RELAYS] + ["…"] * (len(found) > MOST_RELAYS)


def named(addresses):
    """The relays that a question names, and so may approve."""
    shown = hosts(addresses)[:MOST_RELAYS]
    return [address for address in dict.fromkeys(addresses) if host(address) in shown]


def remedy(entry):
    """The name of the action that helps, and the label of its button, or nothing."""
    allowed = {action.name for action in ACTIONS if entry.allows(action)}
    if "approve" in allowed:
        return "approve", "Approve Relays"
    if "retry" in allowed:
        return "retry", "Send As It Is" if entry.state in ("draft", "recovered") else "Send Again"
    if entry.error and entry.state in ("remote", "receiving"):
        return "hydrate", "Try Again"
    return None


def explanation(entry):
    """The problem of an entry in sentences."""
    if not entry.error:
        return "Nothing is wrong with it."
    if entry.has("relays"):
        text = ("The sender has put the file on relays that you have not approved. Whoever runs them sees your network "
                "address when you receive it.\n\n" + "\n".join(hosts(relays(entry.error))))
        return text + ("\n\n" + OWN_NETWORK_WARNING if OWN_NETWORK in entry.error else "")
    text = without_commands(entry.error) or state(entry) + "."
    if entry.state == "unsure":
        text += " It may have arrived: look into the chat before you send it again."
    if entry.state in ("expired", "cancelled", "failed") and entry.direction == "received":
        text += " Ask for the file once more in the chat."
    return text


def amount(count):
    """Bytes in the form of file managers."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.95:
            break
    return f"{count:.1f} {unit}"


def files(count):
    return "1 file" if count == 1 else f"{count} files"


def rows(entry, item, here):
    """The property page of an entry: pairs of a label and a text. 'item' is the mount's description of it
    on the control socket, 'here' its size on this disk in bytes."""
    found = [("State", state(entry))]
    if entry.direction == "sent":
        found.append(("Sent by", "You"))
    elif item.get("sender"):
        found.append(("Sent by", one_line(str(item["sender"]))))
    found.append(("On this device", amount(here) if here else "Nothing"))
    if entry.has("pinned"):
        found.append(("Kept", "Until you stop keeping it"))
    if isinstance(item.get("expires"), int):
        found.append(("Relays keep it until", time.strftime("%c", time.localtime(item["expires"]))))
    if entry.error:
        found.append(("Reason", explanation(entry)))
    addresses = relays(entry.error) or [address for address in item.get("relays", []) if isinstance(address, str)]
    if addresses and not entry.has("relays"):
        found.append(("Relays", "\n".join(hosts(addresses))))
    return found


def log(lines):
    """The messages of a chat's log (docs/reference/filesystem.md, "Log of a chat") as a text for users."""
    said = []
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict) or message.get("event") not in ("message", "edit"):
            continue
        moment = str(message.get("time", "")).replace("T", " ").partition(".")[0].rstrip("Z")
        who = "You" if message.get("direction") == "sent" else one_line(str(message.get("sender", "")))
        attached = message.get("file")
        name = f"[{one_line(str(attached.get('name', '')))}] " if isinstance(attached, dict) else ""
        words = name + str(message.get("text", ""))
        # Indented, because a line of a text may look like another message.
        text = "\n    ".join(words.strip().splitlines())
        said.append(f"{moment}  {who}{' (edited)' if message['event'] == 'edit' else ''}: {text}")
    return "\n".join(said) + "\n" if said else "There are no messages yet.\n"
