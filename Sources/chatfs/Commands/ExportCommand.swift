import Archive
import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs export`: writes all data into one encrypted file.
enum ExportCommand {
    static let command = Command(
        "export", "Write everything that is kept into one encrypted file, or files in clear into a folder.",
        discussion: """
            TARGET is a ZIP file with all profiles, chats, messages and files, as they are at one moment; profiles may be \
            mounted meanwhile. Files in it are encrypted as they are on the disk, and their keys are in databases that \
            are sealed under the archive's passphrase: without it nobody reads a name or a byte, and nothing brings it \
            back. What is on relays and not here is not in it.

            With --chat, only these chats of one profile, as something to read: after 'chatfs import' they have ended.

            With --decrypted TARGET is a folder, for you alone (0700), with the files of one profile in clear, under their             names and with the times of their messages, a folder for each chat, and manifest.json with the SHA-256 of each.             Run again, it gets what is new; what was changed there is left and named. What is not here is named, or             received first with --fetch.

            With --core the archive is that of SimpleX itself, with all its profiles, and its other programs read it too: \
            its databases in it are encrypted as they are on the disk. It is written while nothing else has the core, or by \
            a running program (ws://), which rests meanwhile.
            """,
        section: CommandSection.data,
        arguments: [
            Argument("TARGET", .file, "The archive, or the folder. An existing file is not replaced.")
        ],
        options: [
            .value(
                "chat", named: "NAME", .listed("chats"), repeats: true,
                "Only this contact, group or chat, by its name or reference."),
            .flag("decrypted", "Files in clear into a folder, instead of an archive."),
            .flag("fetch", "With --decrypted: receive what is not here."),
            ArchivePassphrase.option, CommonOptions.profile,
        ] + CommonOptions.directory + OfficialArchive.options,
        examples: [
            Example("chatfs export ~/chats.zip", "Everything; asks for a passphrase."),
            Example("chatfs export --chat Bob --profile alice bob.zip", "One chat."),
            Example("chatfs export --decrypted --fetch ~/chats", "All files, in clear."),
            Example(
                "chatfs export --core lib:/opt/simplex/libsimplex.so --database ~/.simplex/simplex_v1 ~/simplex.zip",
                "SimpleX's own archive."),
        ],
        waitsForStop: true
    ) { invocation in
        let official = try OfficialArchive(invocation)
        // A suspended official core must resume first.
        try await invocation.untilStopped(
            grace: official == nil ? .milliseconds(300) : OfficialArchive.grace
        ) { try await run(invocation, official) }
    }

    private static func run(_ invocation: Invocation, _ official: OfficialArchive?) async throws {
        let destination = AbsolutePath.of(invocation.argument("TARGET"))
        if let official {
            try OfficialArchive.refuse(
                ["chat", "decrypted", "fetch", "profile", "archive-passphrase-fd"], invocation)
            return try await official.write(to: destination)
        }
        let directory = try await invocation.dataDirectory()
        let names = invocation.all("chat")
        if invocation.has("decrypted") {
            let (profile, chats) = try await ThreadPool.shared.run { () throws(ChatError) in
                let profile = try directory.profile(named: invocation["profile"])
                return (profile, try Self.chats(names, of: profile, in: directory))
            }
            return try await DecryptedExport(
                directory: directory, profile: profile, chats: chats, path: destination,
                isOfAllChats: names.isEmpty
            ).run(fetches: invocation.has("fetch"))
        }
        if invocation.has("fetch") { throw UsageError("--fetch goes with --decrypted") }
        if names.isEmpty, invocation["profile"] != nil {
            throw UsageError("--profile goes with --chat: an archive without it has all profiles")
        }
        try await archive(directory, names, to: destination, invocation)
    }

    private static func archive(
        _ directory: DataDirectory, _ names: [String], to destination: String, _ invocation: Invocation
    ) async throws {
        let missing = try await ThreadPool.shared.run {
            var selection: (profile: Profile, chats: [ChatReference])?
            if !names.isEmpty {
                let profile = try directory.profile(named: invocation["profile"])
                selection = (profile, try chats(names, of: profile, in: directory).map(\.reference))
            }
            // Before the prompt for the passphrase.
            try naming(destination) { try NewFile.requireFree(destination) }
            let passphrase = try ArchivePassphrase.read(invocation, isNew: true)
            let snapshot = try Snapshot(of: directory, only: selection, passphrase: passphrase)
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
        guard !missing.isEmpty else { return }
        for file in missing { Terminal.complain("chatfs: \(file.path): \(file.sentence)") }
        Terminal.complain(
            "chatfs: \(missing.count) file\(missing.count == 1 ? " is" : "s are") not whole in the archive; 'chatfs verify' lists them."
        )
        throw ExitCode.failure
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
