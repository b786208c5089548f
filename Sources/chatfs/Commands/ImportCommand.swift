import Archive
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import Posix

/// `chatfs import`: creates a data directory from an archive.
enum ImportCommand {
    private static let archive = Argument("ARCHIVE", .file, "The archive.")
    private static let noEncryption = Option.flag(
        "no-encryption", "Store the databases, with the keys of all files, unencrypted.")

    static let command = Command(
        "import", "Create a data directory from an archive.",
        discussion: """
            'chatfs export' writes ARCHIVE. The data directory must be missing or empty. Repeating the command \
            continues an interrupted import; its partial data is in a folder of the same name with '.importing' \
            appended, which can be deleted.

            The databases stay encrypted, and from then on the archive's passphrase unlocks them; with --no-encryption \
            they are in clear. Damaged files in the archive are listed at the end, and all others are imported.

            With --core the archive has SimpleX's own format, from a SimpleX program or 'chatfs export --core', and no \
            databases may exist at --database. Stop using the program or app that the archive comes from: a profile \
            that is used in two places loses messages in both.
            """,
        section: CommandSection.data, arguments: [archive],
        options: [noEncryption, ArchivePassphrase.option, CommonOptions.data] + CommonOptions.official,
        examples: [
            Example("chatfs import ~/chats.zip", "Import into the default data directory."),
            Example("chatfs import bob.zip --data ~/bob", "Read an archive beside your own data."),
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
        let source = invocation[archive]
        if let official {
            try OfficialArchive.refuse([noEncryption, ArchivePassphrase.option], invocation)
            return try await official.read(from: source)
        }
        let path = invocation.dataPath
        let isSealed = !invocation[noEncryption]
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
            "chatfs: \(counted(failures.count, "file")) could not be imported; 'chatfs verify' lists them."
        )
        throw ExitCode.failure
    }
}
