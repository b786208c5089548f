import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import Posix
import Unlocking

/// `chatfs unlock` and `chatfs lock`: keeps the data directory's key for all commands for some time.
enum UnlockCommand {
    private static let time = Option(
        "for", named: "TIME", .duration, default: .seconds(8 * 3600), "Maximum time to keep the key.")

    static let unlock = Command(
        "unlock", "Keep the data unlocked for a limited time.",
        discussion: """
            Asks for the passphrase once. A background process then holds the key in locked memory and gives it to \
            commands of this user. It deletes the key after TIME, with 'chatfs lock', when the machine sleeps, and \
            when the session is locked. A second 'chatfs unlock' replaces the first.

            While a profile is mounted, commands do not ask: they use the key of the mount.
            """,
        section: CommandSection.daily, options: [time] + CommonOptions.directory,
        examples: [
            Example("chatfs unlock", "Unlock for a working day."),
            Example("chatfs unlock --for 30m", "Unlock for half an hour."),
        ]
    ) { invocation in
        let time = invocation[time]
        guard time >= .seconds(1) else { throw UsageError("--for must be at least 1s") }
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
        "lock", "Delete the key that 'chatfs unlock' keeps.",
        discussion:
            "A mount keeps its key until 'chatfs unmount'; this command lists processes that still have the key.",
        section: CommandSection.daily, options: [CommonOptions.data],
        examples: [Example("chatfs lock", "Ask for the passphrase again.")]
    ) { invocation in
        let path = invocation.dataPath
        let left = await ThreadPool.shared.run { KeyClient.lock(path) }
        let (silent, mounts) = (left.filter { $0.kind == nil }, left.filter { $0.kind != nil })
        if !mounts.isEmpty {
            Terminal.note(
                "chatfs: locked, except for mounts: process \(numbers(mounts)) has the key until 'chatfs unmount'"
            )
        }
        guard silent.isEmpty else {
            throw Refusal(
                "Process \(numbers(silent)) does not answer and may still have the key; it is deleted when that "
                    + "process ends.")
        }
        if mounts.isEmpty { Terminal.note("chatfs: locked") }
    }

    private static func numbers(_ holders: [KeyClient.Holder]) -> String {
        holders.map { "\($0.process)" }.joined(separator: ", ")
    }
}
