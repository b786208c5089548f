import Base
import ChatCore
import CommandLineKit
import Desktop
import Posix

/// `chatfs delete`: deletes messages with their files, or everything.
enum DeleteCommand {
    private static let files = Argument("FILE", .file, count: .any, "Files on a mount, or of the chat.")
    private static let chat = Option("chat", named: "CHAT", .listed("chats"), "FILEs are files of this chat.")
    private static let forEveryone = Option.flag(
        "for-everyone", "Delete them for all recipients: your own messages of the last 24 hours.")
    private static let allFiles = Option.flag("all-files", "Delete all files of the chat, sent and received.")
    private static let sentFiles = Option.flag("sent-files", "Delete all files of the chat that you sent.")
    private static let everything = Option.flag(
        "everything", "Delete the data directory and its key in the keyring.")

    static let command = Command(
        "delete", "Delete files with their messages, all files of a chat, or everything.",
        discussion: """
            A FILE is a path on a mount; with --chat it is the name in its message, or the number of the message \
            (user.chatfs.item-id), whether the profile is mounted or not. The local copy is deleted, of sent files \
            too, and a running upload is cancelled. Others keep their copies, unless --for-everyone deletes your own \
            message of the last 24 hours for them too. A text in the log of the chat stays.

            --all-files and --sent-files are about a whole chat, which stays; 'chatfs contact delete' and 'chatfs \
            group delete' remove it. --everything removes the data directory with all profiles and its key in the \
            keyring, without unlocking it. None of the profiles may be mounted.
            """,
        section: CommandSection.daily, arguments: [files],
        options: [chat, forEveryone, allFiles, sentFiles, everything, Confirmation.option]
            + CommonOptions.access,
        examples: [
            Example("chatfs delete ~/Chats/Bob/report.pdf", "Delete it here, after a question."),
            Example("chatfs delete --for-everyone --chat Bob report.pdf", "Delete it for Bob too."),
            Example("chatfs delete --chat Bob --sent-files --yes", "Delete all files sent to Bob."),
            Example("chatfs delete --everything", "Delete all profiles on this machine."),
        ]
    ) { invocation in
        let files = invocation[files]
        let isAll = invocation[allFiles] || invocation[sentFiles]
        if invocation[everything] {
            guard files.isEmpty, !isAll, invocation[chat] == nil, !invocation[forEveryone],
                invocation[CommonOptions.core] == nil, invocation[CommonOptions.profile] == nil
            else { throw UsageError("--everything goes with --data and --yes only") }
            return try await EverythingDeletion.carryOut(invocation)
        }
        guard let chat = invocation[chat] else {
            guard !isAll else { throw UsageError("--all-files and --sent-files need --chat") }
            guard !files.isEmpty else {
                throw UsageError("nothing to delete: give FILE, --chat or --everything")
            }
            return try await delete(try await paths(files), invocation)
        }
        let access = try ProfileAccess(invocation)
        guard isAll else {
            guard !files.isEmpty else {
                throw UsageError("give files of the chat, --all-files or --sent-files")
            }
            return try await DeletionClient.use(access) { client in
                let places = files.map { file in
                    Place(word: file, request: DeleteRequest(.find, chat: chat, file: file), client: client)
                }
                try await delete(places, invocation)
            }
        }
        guard files.isEmpty, !(invocation[allFiles] && invocation[sentFiles]) else {
            throw UsageError("--all-files and --sent-files go alone with --chat")
        }
        guard !invocation[forEveryone] else {
            throw UsageError("--for-everyone goes with single files")
        }
        try await DeletionClient.use(access) { client in
            try await deleteAll(of: chat, onlySent: invocation[sentFiles], client, invocation)
        }
    }

    // MARK: - Single files

    /// A file to delete, with the process that deletes it.
    private struct Place: Sendable {
        /// The argument on the command line.
        var word: String
        var request: DeleteRequest
        var client: DeletionClient
    }

    /// - Throws: An error for a path that is no file on a mount; nothing is deleted then.
    private static func paths(_ paths: [String]) async throws -> [Place] {
        var places: [Place] = []
        for path in paths {
            let found = await ThreadPool.shared.run { MountedEntry.all(at: path) }
            if let problem = found.problems.first { throw problem }
            guard found.entries.count == 1, let entry = found.entries.first,
                entry.path == MountedEntry.place(path)
            else {
                throw UsageError("'\(path)' is a folder; --chat with --all-files deletes all files of a chat")
            }
            places.append(
                Place(
                    word: path, request: DeleteRequest(.find, entry: entry.number),
                    client: DeletionClient(entry.mounted)))
        }
        return places
    }

    /// Finds all files before the confirmation, so that one impossible deletion prevents the others.
    private static func delete(_ places: [Place], _ invocation: Invocation) async throws {
        let forEveryone = invocation[forEveryone]
        var found: [(place: Place, file: DeleteAnswer.Found)] = []
        var bytes: UInt64 = 0
        for place in places {
            var request = place.request
            request.forEveryone = forEveryone ? true : nil
            do {
                let answer = try await place.client.ask(request)
                guard let file = answer.found else { throw DeletionClient.malformed }
                // A file named twice counts once.
                let isKnown = found.contains {
                    $0.file == file && $0.place.client.identity == place.client.identity
                }
                if isKnown { continue }
                found.append((place, file))
                bytes &+= answer.bytes
            } catch {
                throw PathError(place.word, error)
            }
        }
        try await Confirmation.ask(question(found.map(\.file), bytes, forEveryone), invocation)
        var total = DeleteAnswer()
        var failed = 0
        for (place, file) in found {
            let request = DeleteRequest(
                .carryOut, chat: file.chat, items: [ItemID(file.item)], forEveryone: forEveryone)
            do {
                let answer = try await place.client.ask(request)
                total.files &+= answer.files
                total.bytes &+= answer.bytes
            } catch {
                failed += 1
                Terminal.complain("chatfs: \(PathError(place.word, error).sentence)")
            }
        }
        tell(total)
        guard failed > 0 else { return }
        if found.count > 1 { Terminal.complain("chatfs: \(failed) of \(found.count) could not be deleted.") }
        throw ExitCode.failure
    }

    private static func question(
        _ files: [DeleteAnswer.Found], _ bytes: UInt64, _ forEveryone: Bool
    ) -> String {
        let what =
            files.count == 1
            ? "\(files[0].name) of \(files[0].chatName)" : "\(files.count) files"
        let whose = forEveryone ? "for everyone" : "here (\(ByteCount.rounded(bytes)))"
        return PrintableText.escaping("Delete \(what) \(whose)?")
    }

    // MARK: - All files of a chat

    private static func deleteAll(
        of chat: String, onlySent: Bool, _ client: DeletionClient, _ invocation: Invocation
    ) async throws {
        let answer = try await client.ask(DeleteRequest(.find, chat: chat, onlySent: onlySent))
        guard answer.files > 0, let newest = answer.next else { return tell(DeleteAnswer()) }
        let what = counted(answer.files, onlySent ? "sent file" : "file")
        try await Confirmation.ask(
            PrintableText.escaping(
                "Delete \(what) of \(answer.chatName ?? chat) here (\(ByteCount.rounded(answer.bytes)))?"),
            invocation)
        // By reference, because the folder's name may belong to another chat after a long confirmation.
        guard let reference = answer.chat else { throw DeletionClient.malformed }
        var total = DeleteAnswer()
        var through: Int64? = newest
        while let last = through {
            let part = try await client.ask(
                DeleteRequest(.carryOut, chat: reference, onlySent: onlySent, through: last))
            total.files &+= part.files
            total.bytes &+= part.bytes
            // A repeated page comes from an incompatible daemon.
            guard part.next.map({ $0 < last }) ?? true else { throw DeletionClient.malformed }
            through = part.next
        }
        tell(total)
    }

    private static func tell(_ total: DeleteAnswer) {
        Terminal.note(
            "\(counted(total.files, "file")) deleted, \(ByteCount.rounded(total.bytes)) freed"
        )
    }
}
