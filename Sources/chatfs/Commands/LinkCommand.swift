import CommandLineKit

/// `chatfs link`: the folder of links.
enum LinkCommand {
    static let command = Command(
        "link", "Files that links lead to: add, list, copy and remove links.",
        discussion: """
            A file that is copied into the folder Links of a mount is uploaded and gets a link. Anyone with the link \
            can get the file, for as long as relays keep it, usually 48 hours. What 'add' adds appears there as a file \
            that is received when it is read. 'chatfs link FILE' prints the link of a file there.
            """,
        section: CommandSection.chats,
        subcommands: [
            LinkAddCommand.command, LinkListCommand.command, LinkCopyCommand.command,
            LinkRemoveCommand.command,
        ], unnamed: "copy")
}
