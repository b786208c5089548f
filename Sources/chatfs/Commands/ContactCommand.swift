import CommandLineKit

/// `chatfs contact`: chats with one other profile.
enum ContactCommand {
    static let command = Command(
        "contact", "List, rename, leave and delete contacts.",
        discussion: "'chatfs connect' makes contacts, also those again that were left.",
        section: ChatFS.Section.chats, subcommands: ChatCommands(.contact).commands)
}
