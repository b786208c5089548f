import CommandLineKit

/// The program: every command, in the order in which help lists them. A command is one file in
/// `Commands` and one line here.
enum ChatFS {
    static let version = "0.1.0"

    static let program = Command(
        "chatfs", "SimpleX chats as folders: read a file to receive it, copy one in to send it.",
        discussion: """
            Start with 'chatfs demo': two people, a relay and two mounted folders on this machine, \
            gone again when it ends.
            """,
        subcommands: [
            DemoCommand.command,
            MountCommand.command,
            UnmountCommand.command,
            StatusCommand.command,
            RetryCommand.command,
            HydrateCommand.command,
            DehydrateCommand.command,
            PinCommand.command,
            UnpinCommand.command,
            CacheCommand.command,
            ProfileCommand.command,
            ConnectCommand.command,
            GroupCommand.command,
            SendCommand.command,
            ApproveCommand.command,
            FileCommand.command,
            CryptoFileCommand.command,
            RelayCommand.command,
            DoctorCommand.command,
            CompletionCommand.command,
            ManualCommand.command,
        ])

    /// Headings of the list of commands.
    enum Section {
        static let daily = "Every day"
        static let chats = "Profiles and chats"
        static let files = "Files without a mount"
        static let other = "More"
    }
}
