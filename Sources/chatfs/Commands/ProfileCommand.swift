import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs profile`: who one is.
enum ProfileCommand {
    static let command = Command(
        "profile", "Make and list profiles.", section: ChatFS.Section.chats,
        subcommands: [create, list])

    private static let create = Command(
        "create", "Make a profile, with Saved notes of its own.",
        discussion: """
            A name has 1 to 64 characters, no control characters, no space at either end, does not begin \
            with @, # or *, and is used once in a data directory.
            """,
        arguments: [Argument("NAME", .text, "The name that others see.")],
        options: [CommonOptions.relay, CommonOptions.data],
        examples: [Example("chatfs profile create alice", "Make the profile alice.")]
    ) { invocation in
        let relays = try invocation.relays()
        let directory = try await invocation.dataDirectory(isMade: true)
        let name = invocation.argument("NAME")
        try await ThreadPool.shared.run {
            let profile = try directory.createProfile(name)
            try directory.addRelays(relays, to: profile)
        }
    }

    private static let list = Command(
        "list", "Print the names of all profiles, one a line.", options: [CommonOptions.data]
    ) { invocation in
        guard DataDirectory.exists(invocation["data"]) else { return }
        let directory = try await invocation.dataDirectory()
        for profile in try await ThreadPool.shared.run({ try directory.profiles() }) {
            Terminal.print(profile.displayName)
        }
    }
}
