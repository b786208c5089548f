import Archive
import Base
import ChatCore
import CommandLineKit
import Cryptography
import EmbeddedCore
import Posix

/// `chatfs export`: writes all data into one encrypted file.
enum ExportCommand {
    private static let target = Argument(
        "TARGET", .file, "The archive, or the folder. An existing file is not replaced.")
    private static let chats = Option.list(
        "chat", named: "NAME", .listed("chats"),
        "Only this contact, group or chat, by its name or reference.")
    private static let decrypted = Option.flag(
        "decrypted", "Write decrypted files into a folder instead of an archive.")
    private static let fetch = Option.flag("fetch", "With --decrypted: receive files that are not local.")
    /// Options of ChatFS's own core.
    private static let own: [any OptionDeclaration] = [
        chats, decrypted, fetch, CommonOptions.profile, ArchivePassphrase.option,
    ]

    static let command = Command(
        "export", "Export all data into an encrypted archive, or decrypted files into a folder.",
        discussion: """
            TARGET is a ZIP file with a consistent snapshot of all profiles, chats, messages and files; profiles may \
            be mounted meanwhile. Its files are encrypted as on the disk, and the databases with their keys are sealed \
            under the archive's passphrase. If the passphrase is lost, the archive is unreadable. Files that are only \
            on relays are not included.

            With --chat it contains only these chats of one profile, for reading: after 'chatfs import' they cannot \
            send or receive.

            With --decrypted TARGET is a private folder (0700) with the decrypted files of one profile. \
            It has a folder for each chat, files with the names and times of their messages, and manifest.json with \
            the SHA-256 of each. A repeated export adds new files and reports files that you changed there, without \
            touching them. Files that are not local are reported, or received first with --fetch.

            With --core the archive has SimpleX's own format, with all its profiles, and other SimpleX programs can \
            read it. Its databases are encrypted as on the disk. No other program may use the core meanwhile, except a \
            running program (ws://), which pauses and writes the archive.
            """,
        section: CommandSection.data, arguments: [target],
        options: [chats, decrypted, fetch, ArchivePassphrase.option, CommonOptions.profile]
            + CommonOptions.directory + CommonOptions.official,
        examples: [
            Example("chatfs export ~/chats.zip", "Export everything, sealed under a passphrase."),
            Example("chatfs export --chat Bob --profile alice bob.zip", "Export one chat."),
            Example("chatfs export --decrypted --fetch ~/chats", "Export all files, decrypted."),
            Example(
                "chatfs export --core lib:/opt/simplex/libsimplex.so --database ~/.simplex/simplex_v1 ~/simplex.zip",
                "Write SimpleX's own archive."),
        ],
        waitsForStop: true
    ) { invocation in
        let official = try OfficialArchive(invocation)
        // A suspended official core must resume first.
        let prepared = try await invocation.untilStopped(
            grace: official == nil ? .milliseconds(300) : OfficialArchive.grace
        ) { try await run(invocation, official) }
        guard let prepared else { return }
        // The snapshot must be removed first.
        let missing = try await invocation.untilStopped(grace: .seconds(30)) {
            try await prepared.write(until: invocation.stop)
        }
        guard !missing.isEmpty else { return }
        for file in missing { Terminal.complain("chatfs: \(file.path): \(file.sentence)") }
        Terminal.complain(
            "chatfs: \(missing.count) file\(missing.count == 1 ? " is" : "s are") incomplete in the archive; 'chatfs verify' lists them."
        )
        throw ExitCode.failure
    }

    /// Returns the archive to write, after all questions; nil if the export is complete.
    private static func run(
        _ invocation: Invocation, _ official: OfficialArchive?
    ) async throws -> PreparedArchive? {
        let destination = AbsolutePath.of(invocation[target])
        if let official {
            try OfficialArchive.refuse(own, invocation)
            try await official.write(to: destination)
            return nil
        }
        let directory = try await invocation.dataDirectory()
        let names = invocation[chats]
        if invocation[decrypted] {
            let (profile, chats) = try await ThreadPool.shared.run { () throws(ChatError) in
                let profile = try directory.profile(named: invocation[CommonOptions.profile])
                return (profile, try Self.chats(names, of: profile, in: directory))
            }
            try await DecryptedExport(
                directory: directory, profile: profile, chats: chats, path: destination,
                isOfAllChats: names.isEmpty
            ).run(fetches: invocation[fetch])
            return nil
        }
        if invocation[fetch] { throw UsageError("--fetch goes with --decrypted") }
        if names.isEmpty, invocation[CommonOptions.profile] != nil {
            throw UsageError("--profile goes with --chat: an archive without it has all profiles")
        }
        return try await ThreadPool.shared.run {
            var selection: (profile: Profile, chats: [ChatReference])?
            if !names.isEmpty {
                let profile = try directory.profile(named: invocation[CommonOptions.profile])
                selection = (profile, try chats(names, of: profile, in: directory).map(\.reference))
            }
            // Before the prompt for the passphrase.
            try naming(destination) { try NewFile.requireFree(destination) }
            return PreparedArchive(
                directory: directory, selection: selection, destination: destination,
                passphrase: try ArchivePassphrase.read(invocation, isNew: true))
        }
    }

    /// Returns the named chats, or all.
    private static func chats(
        _ names: [String], of profile: Profile, in directory: DataDirectory
    ) throws(ChatError) -> [NamedChat] {
        let chats = try directory.namedChats(of: profile)
        if names.isEmpty { return chats.all }
        return try names.map { name throws(ChatError) in try chats.chat(name) }
    }
}

/// An archive that only has to be written.
private struct PreparedArchive: Sendable {
    var directory: DataDirectory
    var selection: (profile: Profile, chats: [ChatReference])?
    var destination: String
    var passphrase: SecretBytes

    /// Returns the incomplete files. Leaves neither a snapshot nor a part of the archive after a stop.
    func write(until stop: StopRequest) async throws -> [Snapshot.Missing] {
        try await ThreadPool.shared.run {
            let snapshot = try Snapshot(of: directory, only: selection, passphrase: passphrase) {
                if stop.isRequested { throw CancellationError() }
            }
            let display = ProgressDisplay("Archiving")
            defer { display.finish() }
            try naming(destination) {
                try NewFile.write(to: destination) { file in
                    try snapshot.write(to: file, program: "ChatFS \(Release.version)") {
                        display.update(done: $0, total: $1)
                    }
                }
            }
            return snapshot.missing
        }
    }
}
