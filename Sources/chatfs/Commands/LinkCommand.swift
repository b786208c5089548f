import CommandLineKit

/// `chatfs link`: the folder of links.
enum LinkCommand {
    static let command = Command(
        "link", "Add, list, copy and remove links to files.",
        discussion: """
            A file that you copy into the folder Links of a mount is uploaded and gets a link. Anyone with the link \
            can get the file while relays keep it, usually 48 hours. 'add' shows the file of a given link in the \
            folder; reading the file receives it. 'chatfs link FILE' prints the link of a file there.
            """,
        section: CommandSection.chats,
        subcommands: [
            LinkAddCommand.command, LinkListCommand.command, LinkCopyCommand.command,
            LinkRemoveCommand.command,
        ], unnamed: "copy")
}
