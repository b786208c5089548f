import CommandLineKit
import Desktop
import Posix

/// `chatfs suspend` and `chatfs resume`: a mount without connections to relays.
enum SuspensionCommands {
    static let suspend = Command(
        "suspend", "Close a mount's connections, and transfer nothing until it is resumed.",
        discussion: """
            The folders stay, and what is here can be read. What is not here is not fetched: a read of it \
            waits as for a silent relay. What is copied in is queued. A mount suspends by itself while the \
            machine sleeps. An official core that ChatFS started is suspended with it; a program that was \
            running before (ws://) keeps its own connections.
            """,
        section: CommandSection.daily, arguments: [ProgramConnection.mountpoint],
        options: [CommonOptions.mount],
        examples: [Example("chatfs suspend", "On a train.")]
    ) { invocation in
        try await ask(.suspend, invocation, done: "transfers nothing now")
    }

    static let resume = Command(
        "resume", "Resume a suspended mount.",
        discussion: "What waited continues at once, also what waited for its next try.",
        section: CommandSection.daily, arguments: [ProgramConnection.mountpoint],
        options: [CommonOptions.mount],
        examples: [Example("chatfs resume", "Back at home.")]
    ) { invocation in
        try await ask(.resume, invocation, done: "transfers again")
    }

    private static func ask(
        _ method: ProgramRequest.Method, _ invocation: Invocation, done: String
    ) async throws {
        let mounted = try await Mounted.chosen(by: invocation)
        let client = try await ProgramConnection.client(of: mounted)
        _ = try await ThreadPool.shared.run { try client.ask(ProgramRequest(method)) }
        Terminal.note("chatfs: \(mounted.mountpoint) \(done)")
    }
}
