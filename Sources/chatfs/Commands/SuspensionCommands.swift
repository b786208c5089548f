import CommandLineKit
import Desktop
import Posix

/// `chatfs suspend` and `chatfs resume`: a mount without connections to relays.
enum SuspensionCommands {
    static let suspend = Command(
        "suspend", "Close a mount's connections and pause transfers until 'chatfs resume'.",
        discussion: """
            The folders stay, and local files stay readable. Reads of other files wait, as they do for a silent relay. \
            Files copied in are queued. A mount suspends by itself while the machine sleeps. An official core that \
            ChatFS started is suspended too; a program that was running before (ws://) keeps its connections.
            """,
        section: CommandSection.daily, arguments: [CommonOptions.mountpoint],
        options: [CommonOptions.mount],
        examples: [Example("chatfs suspend", "Stop transfers on a train.")]
    ) { invocation in
        try await setSuspended(true, invocation, done: "is suspended")
    }

    static let resume = Command(
        "resume", "Resume a suspended mount.",
        discussion: "Waiting transfers continue at once, without their retry delays.",
        section: CommandSection.daily, arguments: [CommonOptions.mountpoint],
        options: [CommonOptions.mount],
        examples: [Example("chatfs resume", "Continue at home.")]
    ) { invocation in
        try await setSuspended(false, invocation, done: "is resumed")
    }

    private static func setSuspended(
        _ isSuspended: Bool, _ invocation: Invocation, done: String
    ) async throws {
        let mounted = try await Mounted.chosen(by: invocation)
        let client = try await ProgramConnection.client(of: mounted)
        try await ThreadPool.shared.run { try client.setSuspended(isSuspended) }
        Terminal.note("chatfs: \(mounted.mountpoint) \(done)")
    }
}
