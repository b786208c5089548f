import CommandLineKit

/// `chatfs file`: files over XFTP without a chat.
enum FileCommand {
    static let command = Command(
        "file", "Send and receive files over XFTP without a chat.",
        section: CommandSection.files,
        subcommands: [
            FileSendCommand.command, FileReceiveCommand.command, FileDeleteCommand.command,
            FileInfoCommand.command,
        ])
}
