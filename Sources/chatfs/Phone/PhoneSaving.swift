import Archive
import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import OfficialCore
import Posix

/// `chatfs phone save`: the files of a phone's chats in clear, in a folder.
enum PhoneSaving {
    static let command = Command(
        "save", "Write files of your phone's chats in clear into a folder.",
        discussion: """
            Files get their names and the times of their messages, a folder for each chat, and manifest.json has the \
            SHA-256 of each. DIR is for you alone (0700): whoever can read it reads the files. Run again, it gets what is \
            new; what was changed there is left and named. A file that is not on the phone is named: open it in SimpleX \
            first. The phone must not be mounted meanwhile, and it is waited for.
            """,
        arguments: [
            Argument("CHAT", .text, count: .any, "A contact, group or chat, by its name or reference."),
            Argument("DIR", .folder, "A new folder, or one of an earlier run."),
        ],
        options: [
            .flag("all", "All chats."), PhoneOptions.phone,
            PhoneOptions.listen, PhoneOptions.host, PhoneOptions.versions, PhoneOptions.policy,
            PhoneOptions.receiveLimit,
        ] + LinkDisplay.options + [CommonOptions.noEncryption] + CommonOptions.directory,
        examples: [
            Example("chatfs phone save --all ~/Backup", "A backup of all files on the phone."),
            Example("chatfs phone save Family Bob ~/Backup", "Two chats."),
        ],
        waitsForStop: true
    ) { invocation in
        let chats = invocation.allArguments("CHAT")
        guard chats.isEmpty == invocation.has("all") else { throw UsageError("name chats, or give --all") }
        try await invocation.untilStopped(grace: .seconds(5)) {
            try await save(chats, to: AbsolutePath.of(invocation.argument("DIR")), invocation)
        }
    }

    private static func save(_ names: [String], to path: String, _ invocation: Invocation) async throws {
        let word = invocation["name"].map { "phone:" + $0 } ?? "phone"
        guard var choice = try OfficialCoreChoice(core: word, database: nil) else { return }
        choice.phone = try PhoneOptions(invocation)
        var settings = CoreSettings(
            profile: nil, directory: try DirectoryAccess(invocation), official: choice)
        settings.phoneDisplay = try LinkDisplay(invocation)
        let access = settings.directory
        let directory = try await ThreadPool.shared.run { () throws(any Error) in
            try access.open(isMade: true)
        }
        let core = try await MountedCore.openOfficial(choice, settings, in: directory)
        do {
            let saving = try await PhoneSave(core, directory, names, path)
            let isWhole = try await saving.run()
            await core.shutDown()
            try await ThreadPool.shared.run { () throws(ChatError) in try directory.noteParts() }
            if !isWhole { throw ExitCode.failure }
        } catch {
            await core.shutDown()
            throw error
        }
    }
}

/// One run of `chatfs phone save`.
private struct PhoneSave: Sendable {
    private struct Wanted: Sendable {
        var item: ChatItem
        var folder: String
        var title: String
    }

    private let core: OfficialCore
    private let chats: [NamedChat]
    private let path: String

    private static let page = 500

    /// Waits until the phone has told all that it has.
    init(
        _ core: OfficialCore, _ directory: DataDirectory, _ names: [String], _ path: String
    ) async throws {
        self.core = core
        self.path = path
        while !(try await core.hasReadHistory()) { try await Task.sleep(for: .milliseconds(200)) }
        let folders = RecordedFolders(in: core.folder, key: directory.key)
        let known = try await folders.chats(of: core)
        chats = names.isEmpty ? known.all : try names.map { try known.chat($0) }
    }

    /// - Returns: whether everything is there that the phone has.
    func run() async throws -> Bool {
        let wanted = try await wanted()
        let total = wanted.reduce(UInt64(0)) { $0 &+ ($1.item.file?.size ?? 0) }
        let folder = try await Serial(PlainFolder(path, of: core.profile))
        let display = ProgressDisplay("Saving")
        defer { display.finish() }
        var (written, unchanged, absent, failed, done) = (0, 0, 0, 0, UInt64(0))
        for next in wanted {
            try Task.checkCancellation()
            let outcome = try await put(next, in: folder)
            done &+= next.item.file?.size ?? 0
            display.update(done: done, total: total)
            switch outcome {
            case .written, .writtenAgain: written += 1
            case .unchanged: unchanged += 1
            case .notHere: absent += 1
            case .changed, .failed: failed += 1
            }
            guard let words = Self.words(outcome) else { continue }
            display.finish()
            let name = "\(next.folder)/\(next.item.file?.name ?? "")"
            Terminal.complain(PrintableText.escaping("chatfs: \(name): \(words)"))
        }
        try await folder.run { try $0.save() }
        Terminal.note(
            "\(written) written, \(unchanged) unchanged, \(absent) not on the phone, \(failed) not saved")
        return failed == 0
    }

    /// Oldest first in each chat, so that equal names get the same numbers in each run.
    private func wanted() async throws -> [Wanted] {
        var wanted: [Wanted] = []
        var taken: Set<String> = []
        for chat in chats {
            let folder = SafeFileName.free(
                chat.folder ?? SafeFileName.make(fromTitle: chat.name) ?? "chat", &taken)
            var (found, last): ([Wanted], ItemID?) = ([], nil)
            while true {
                let items = try await core.items(of: chat.reference, before: last, count: Self.page)
                found += items.filter { $0.file != nil }
                    .map { Wanted(item: $0, folder: folder, title: chat.name) }
                guard let oldest = items.last, items.count == Self.page else { break }
                last = oldest.id
            }
            wanted += found.reversed()
        }
        return wanted
    }

    /// Fetched from the phone only where the folder has it not, and kept here only where it was before.
    private func put(_ next: Wanted, in folder: Serial) async throws -> PlainFolder.Outcome {
        let first = try await folder.put(next.item, (next.folder, next.title))
        guard first == .notHere, let file = next.item.file else { return first }
        guard file.status.isReadable else { return .notHere }
        do throws(ChatError) {
            let isKept = try await core.holdsCopy(of: file.id)
            var item = next.item
            item.file?.source = try await core.location(of: file.id)
            let outcome: PlainFolder.Outcome
            do {
                outcome = try await folder.put(item, (next.folder, next.title))
            } catch {
                throw ChatError(.storage, sentence(of: error), cause: error)
            }
            if !isKept { try await core.dropCopy(of: file.id) }
            return outcome
        } catch {
            if error.code == .file(.unreachable) || error.code == .storage { throw error }
            return .failed(error.sentence)
        }
    }

    private static func words(_ outcome: PlainFolder.Outcome) -> String? {
        switch outcome {
        case .written, .unchanged: nil
        case .writtenAgain: "It was not there any more, and was written again."
        case .changed: "It was changed since it was written, and is left as it is."
        case .notHere: "It is not on the phone: open it in SimpleX there first."
        case .failed(let sentence): sentence
        }
    }
}

/// A folder of files in clear, of one task at a time; its calls block, so they are made on the thread pool.
private struct Serial: @unchecked Sendable {
    // Safe: one task uses it, and waits for each call.
    private let folder: PlainFolder

    init(_ make: @autoclosure @escaping @Sendable () throws -> PlainFolder) async throws {
        folder = try await ThreadPool.shared.run { () throws(any Error) in Made(folder: try make()) }.folder
    }

    private struct Made: @unchecked Sendable {
        // Safe: handed over once.
        let folder: PlainFolder
    }

    func run<Result: Sendable>(
        _ body: @escaping @Sendable (PlainFolder) throws -> Result
    ) async throws -> Result {
        try await ThreadPool.shared.run { () throws(any Error) in try body(folder) }
    }

    func put(
        _ item: ChatItem, _ chat: (folder: String, title: String)
    ) async throws -> PlainFolder.Outcome {
        try await run { folder in
            let name = SafeFileName.make(from: item.file?.name ?? "") ?? "file-\(item.id.rawValue)"
            return try folder.put(item, chat: chat, name: name) { _ in }
        }
    }
}
