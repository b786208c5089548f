import CommandLineKit
import Desktop
import Posix

/// `chatfs read`: nothing of a chat counts as unread any more.
enum ReadCommand {
    static let command = Command(
        "read", "Mark what arrived in chats as read.",
        discussion: """
            Lowers the number of unread files and texts that docks and 'chatfs chats' show, and closes their \
            notifications. Others are not told. Opening a file does the same for that file, and so does a window of a file \
            manager for the folder that it shows.
            """,
        section: CommandSection.chats,
        arguments: [
            Argument(
                "CHAT", .listed("chats"), count: .any, "Names of contacts or groups, or their references.")
        ],
        options: [
            .flag("all", "All chats of the mount."),
            .value(
                "mountpoint", named: "MOUNTPOINT", .listed("mountpoints"),
                "Which mount; not needed when there is only one."),
        ],
        examples: [
            Example("chatfs read 'Book club'", "That group."), Example("chatfs read --all", "Everything."),
        ]
    ) { invocation in
        let names = invocation.allArguments("CHAT")
        guard names.isEmpty == invocation.has("all") else {
            throw UsageError("'chatfs read' takes names of chats, or --all")
        }
        let mountpoint = invocation["mountpoint"]
        let place = try await ThreadPool.shared.run { try ProgramAsking.Place(mountpoint) }
        let client = try await ProgramAsking.client(of: place.mounted)
        try await ThreadPool.shared.run {
            var chats = names
            if invocation.has("all") {
                chats = (try client.ask(ProgramRequest(.listChats)).chats ?? []).filter { $0.unread != nil }
                    .map(\.chat)
            }
            for chat in chats { _ = try client.ask(ProgramRequest(.markRead, chat: chat)) }
        }
    }
}
