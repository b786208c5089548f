import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import Posix
import Unlocking

/// `chatfs unlock` and `chatfs lock`: keeps the data directory's key for all commands for some time.
enum UnlockCommand {
    static let unlock = Command(
        "unlock", "Keep the data unlocked for some time, so that no command asks for the passphrase.",
        discussion: """
            Asks for the passphrase once. A process in the background then holds the key in locked memory and gives it \
            to commands of this user. It forgets the key after the time, with 'chatfs lock', when the machine sleeps, and \
            when the session is locked. A second 'chatfs unlock' replaces the first.

            While a profile is mounted no command asks: the process of the mount has the key.
            """,
        section: CommandSection.daily,
        options: [
            .value("for", named: "TIME", .duration, default: "8h", "How long, at most.")
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs unlock", "For a working day."),
            Example("chatfs unlock --for 30m", "For half an hour."),
        ]
    ) { invocation in
        let time = invocation.duration("for") ?? .zero
        guard time >= .seconds(1) else { throw UsageError("--for takes a second at least") }
        let access = try DirectoryAccess(invocation, asksHolders: false)
        try await ThreadPool.shared.run { () throws(any Error) in
            guard try access.isThere() else { throw DataDirectory.noProfile }
            guard let key = try access.key() else {
                throw Refusal("The data is not encrypted: there is nothing to unlock.")
            }
            try access.folder.probe(with: key)
            try KeyAgent.start(access.path, key: key, for: time)
        }
        Terminal.note(
            "chatfs: unlocked for \(KeyAgent.words(seconds: time.components.seconds)); 'chatfs lock' ends that"
        )
    }

    static let lock = Command(
        "lock", "Forget the key that 'chatfs unlock' keeps.",
        discussion: "A mount keeps its key until 'chatfs unmount'; this command names those that have it.",
        section: CommandSection.daily, options: [CommonOptions.data],
        examples: [Example("chatfs lock", "The next command asks for the passphrase.")]
    ) { invocation in
        let path = AbsolutePath.of(invocation["data"] ?? DataDirectory.defaultPath())
        let left = await ThreadPool.shared.run { KeyClient.lock(path) }
        guard !left.isEmpty else { return Terminal.note("chatfs: locked") }
        let processes = left.map { "\($0.process)" }.joined(separator: ", ")
        Terminal.note(
            "chatfs: locked, but for what is mounted: process \(processes) has the key until 'chatfs unmount'"
        )
    }
}
