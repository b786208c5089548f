import Archive
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import Posix

/// `chatfs import`: creates a data directory from an archive.
enum ImportCommand {
    static let command = Command(
        "import", "Make a data directory of an archive.",
        discussion: """
            ARCHIVE was written by 'chatfs export'. The place of the data directory must be free: missing, or an empty \
            folder. An import that was interrupted continues where it was when the same command is given again; what is \
            there of it lies in a folder of the same name with '.importing' behind it, which can be deleted.

            The databases stay encrypted, and the archive's passphrase unlocks them from then on; with --no-encryption \
            they are in clear. Files that are damaged in the archive are named at the end, and the others are taken over.

            With --core the archive is one of SimpleX itself, written by it or by 'chatfs export --core', and the place of \
            its databases (--database) must be free. The program or app that it comes from must not be used any more: a \
            profile that is used in two places loses messages in both.
            """,
        section: CommandSection.data,
        arguments: [Argument("ARCHIVE", .file, "The archive.")],
        options: [
            .flag("no-encryption", "Leave the databases in clear, with the keys of all files in them."),
            ArchivePassphrase.option, CommonOptions.data,
        ] + OfficialArchive.options,
        examples: [
            Example("chatfs import ~/chats.zip", "Into the usual place."),
            Example("chatfs import bob.zip --data ~/bob", "To look into beside one's own."),
        ],
        waitsForStop: true
    ) { invocation in
        let official = try OfficialArchive(invocation)
        // The core's partial import must be removed first.
        try await invocation.untilStopped(
            grace: official == nil ? .milliseconds(300) : OfficialArchive.grace
        ) { try await run(invocation, official) }
    }

    private static func run(_ invocation: Invocation, _ official: OfficialArchive?) async throws {
        let source = invocation.argument("ARCHIVE")
        if let official {
            try OfficialArchive.refuse(["no-encryption", "archive-passphrase-fd"], invocation)
            return try await official.read(from: source)
        }
        let path = AbsolutePath.of(invocation["data"] ?? DataDirectory.defaultPath())
        let isSealed = !invocation.has("no-encryption")
        let failures = try await ThreadPool.shared.run {
            let archive = try naming(source) { try OpenFile(source, flags: O_RDONLY) }
            let restoration = try Restoration(
                archive, to: path, passphrase: try ArchivePassphrase.read(invocation, isNew: false))
            let display = ProgressDisplay("Unpacking")
            defer { display.finish() }
            return try restoration.run(isSealed: isSealed) { display.update(done: $0, total: $1) }
        }
        guard !failures.isEmpty else { return }
        for failure in failures { Terminal.complain("chatfs: \(failure.name): \(failure.sentence)") }
        Terminal.complain(
            "chatfs: \(failures.count) file\(failures.count == 1 ? "" : "s") could not be taken over; 'chatfs verify' lists them."
        )
        throw ExitCode.failure
    }
}
