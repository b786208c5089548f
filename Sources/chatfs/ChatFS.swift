import CommandLineKit

/// The program: every command, in the order in which help lists them. A command is one file in
/// `Commands` and one line here.
enum ChatFS {
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
            ChatsCommand.command,
            ListCommand.command,
            FindCommand.command,
            EventsCommand.command,
            MuteCommand.command,
            UnmuteCommand.command,
            RetryCommand.command,
            CancelCommand.command,
            DeleteCommand.command,
            HydrateCommand.command,
            DehydrateCommand.command,
            PinCommand.command,
            UnpinCommand.command,
            KeepCommand.command,
            SuspensionCommands.suspend,
            SuspensionCommands.resume,
            CacheCommand.command,
            ProfileCommand.command,
            KeyCommand.command,
            PairCommand.command,
            AcceptCommand.command,
            AddressCommand.command,
            ConnectionCommand.command,
            RequestCommands.requests,
            RequestCommands.reject,
            ConnectCommand.command,
            ContactCommand.command,
            ChatCommand.command,
            GroupCommand.command,
            SendCommand.command,
            ApproveCommand.command,
            FileCommand.command,
            LinkCommand.command,
            CryptoFileCommand.command,
            ConfigCommand.command,
            StorageCommand.command,
            VerifyCommand.command,
            ExportCommand.command,
            ImportCommand.command,
            RelayCommand.command,
            NetworkCommand.command,
            DoctorCommand.command,
            CompletionCommand.command,
            CompleteCommand.command,
            ManualCommand.command,
            HelpCommand.command(section: CommandSection.other),
        ])
}
