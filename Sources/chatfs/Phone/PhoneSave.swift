import Archive
import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import OfficialCore
import Posix

/// One run of `chatfs phone save`: performs the steps of `SavingOrder`.
struct PhoneSave: Sendable {
    let core: OfficialCore
    let directory: DataDirectory
    /// Absolute path of the folder.
    let path: String
    /// Maximum size of a file that the phone receives for this, in bytes.
    let limit: UInt64

    private static let page = 500
    /// Bytes of a log that are read at once.
    private static let piece: UInt64 = 1 << 20
    private static let pause = Duration.milliseconds(200)
    /// Maximum number of named files for each reason.
    private static let maxNamed = 10

    private struct Tally {
        var written = 0
        var unchanged = 0
        var failed = 0
        /// In bytes.
        var done: UInt64 = 0

        var saved: Int { written + unchanged }
    }

    /// - Parameter names: The chats, or empty for all.
    /// - Returns: False if a file could not be written, or a chat could not be read.
    /// - Throws: `.file(.unreachable)` if the phone left; `ArchiveError` `.noSpace`. The next run continues.
    func run(_ names: [String]) async throws -> Bool {
        try await waitForList()
        let chats = try await chats(names)
        let unread = try await core.chatsWithUnreadHistory()
        let partial = chats.filter { unread.contains($0.reference) }
        let places = Self.places(of: chats)
        let files = try await files(of: places)
        let folder = try await PlainFolderQueue(path, of: core.profile)
        let present = try await folder.present(of: files)
        var tally = Tally(unchanged: present.unchanged, failed: present.changed.count)
        for file in present.changed { report(file, .changed) }
        var order = SavingOrder(present.missing, limit: limit, now: SystemWallClock().now())
        announce(order)
        do {
            try await perform(&order, in: folder, &tally)
            try await writeLogs(of: places, in: folder)
        } catch {
            try? await folder.save()
            throw explained(error, "\(tally.saved) of \(files.count) files are saved.")
        }
        try await folder.save()
        report(absent: order.absent)
        for chat in partial {
            Terminal.complain(
                PrintableText.escaping(
                    "chatfs: \(chat.name): The phone did not show all messages; files may be missing."))
        }
        Terminal.note(
            "\(tally.written) written, \(tally.unchanged) unchanged, \(order.absent.count) not on the phone, "
                + "\(tally.failed) not saved")
        return tally.failed == 0 && partial.isEmpty
    }

    /// Waits for the phone, and until it has told all that it has.
    private func waitForList() async throws {
        var wasHere = false
        while !(try await core.hasReadHistory()) {
            if core.isReachable {
                if !wasHere { Terminal.note("Reading the list of files from the phone.") }
                wasHere = true
            } else if wasHere {
                throw Self.left("")
            }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Adds to an error that ends the run what is saved, and what to do.
    private func explained(_ error: any Error, _ saved: String) -> any Error {
        let code = (error as? ChatError)?.code
        if code == .file(.noSpace) || (error as? ArchiveError)?.code == .noSpace {
            return ChatError(
                .file(.noSpace),
                "The disk is full. \(saved) Make room and run the command again: it continues.", cause: error)
        }
        return code == .file(.unreachable) ? Self.left(saved + " ") : error
    }

    private static func left(_ saved: String) -> ChatError {
        ChatError(
            .file(.unreachable),
            "The phone left before the end. \(saved)Run the command again, and open SimpleX on the phone and choose “Use "
                + "from desktop”: the command continues.")
    }

    // MARK: - The list

    private func chats(_ names: [String]) async throws -> [NamedChat] {
        let folders = RecordedFolders(in: core.folder, key: directory.key)
        let known = try await folders.chats(of: core)
        return names.isEmpty ? known.all : try names.map { try known.chat($0) }
    }

    /// Returns the chats with the names of their folders.
    private static func places(of chats: [NamedChat]) -> [(chat: NamedChat, folder: String)] {
        var taken = PlainFolder.reservedNames
        return chats.map { chat in
            let name = chat.folder ?? SafeFileName.make(fromTitle: chat.name) ?? "chat"
            return (chat, SafeFileName.free(name, &taken))
        }
    }

    /// Returns the files, oldest first in each chat, so that equal names get the same numbers in each run.
    private func files(of places: [(chat: NamedChat, folder: String)]) async throws -> [SavedFile] {
        var files: [SavedFile] = []
        for (chat, folder) in places {
            var (found, last): ([SavedFile], ItemID?) = ([], nil)
            while true {
                let items = try await core.items(of: chat.reference, before: last, count: Self.page)
                found += items.filter { $0.file != nil }
                    .map { SavedFile(item: $0, folder: folder, title: chat.name) }
                guard let oldest = items.last, items.count == Self.page else { break }
                last = oldest.id
            }
            files += found.reversed()
        }
        return files
    }

    private func announce(_ order: SavingOrder) {
        let demand = order.demand
        guard demand.files > 0 else { return }
        Terminal.note(
            "Files that are not on the phone yet are received there now: \(demand.files), "
                + "\(ByteCount.rounded(demand.bytes)). This uses the phone's storage.")
    }

    // MARK: - Steps

    private func perform(
        _ order: inout SavingOrder, in folder: PlainFolderQueue, _ tally: inout Tally
    ) async throws {
        let display = ProgressDisplay("Saving")
        defer { display.finish() }
        let total = order.total
        while true {
            try Task.checkCancellation()
            for id in order.awaited {
                order.note(try await core.item(of: id), of: id, now: .now)
            }
            display.update(done: tally.done, total: total)
            switch order.next(now: .now) {
            case .receive(let file):
                do throws(ChatError) {
                    guard let id = file.id else { continue }
                    try await core.receiveFile(id, approvedRelays: false)
                } catch {
                    if error.code == .file(.unreachable) { throw error }
                    if let id = file.id { order.refuse(id, error.sentence) }
                }
            case .write(let file):
                let outcome = try await put(file, in: folder)
                tally.done.addSaturating(file.size)
                counted(outcome, &tally)
                if Self.words(outcome) != nil { display.finish() }
                report(file, outcome)
            case .wait:
                guard core.isReachable else {
                    throw ChatError(.file(.unreachable), "The phone is not connected.")
                }
                try await Task.sleep(for: Self.pause)
            case .end: return
            }
        }
    }

    /// Fetches a file from the phone. Its copy on this machine stays only if it was here before.
    private func put(_ file: SavedFile, in folder: PlainFolderQueue) async throws -> PlainFolder.Outcome {
        guard let id = file.id else { return .unchanged }
        let isKept = try await core.holdsCopy(of: id)
        var fetched = file
        do throws(ChatError) {
            fetched.item.file?.source = try await core.location(of: id)
        } catch {
            let isEnd = [.storage, .file(.noSpace), .file(.unreachable)].contains(error.code)
            guard !isEnd else { throw error }
            return .failed(error.sentence)
        }
        do {
            let outcome = try await folder.put(fetched)
            if !isKept { try await core.dropCopy(of: id) }
            return outcome
        } catch {
            if !isKept { try? await core.dropCopy(of: id) }
            throw error
        }
    }

    private func writeLogs(
        of places: [(chat: NamedChat, folder: String)], in folder: PlainFolderQueue
    ) async throws {
        let logs = try await core.messageLogs()
        for (chat, name) in places {
            guard let size = logs[chat.reference]?.size else { continue }
            var written: UInt64 = 0
            // A log that grows meanwhile ends with a whole line too.
            while written < size {
                let piece = try await core.messageLog(
                    of: chat.reference, from: written, count: Int(min(size - written, Self.piece)))
                if piece.isEmpty { break }
                try await folder.putLog(piece, at: written)
                written += UInt64(piece.count)
            }
            try await folder.endLog(chat: name)
        }
    }

    // MARK: - Reports

    private func counted(_ outcome: PlainFolder.Outcome, _ tally: inout Tally) {
        switch outcome {
        case .written, .writtenAgain: tally.written += 1
        case .unchanged: tally.unchanged += 1
        case .changed, .failed, .notHere: tally.failed += 1
        }
    }

    private func report(_ file: SavedFile, _ outcome: PlainFolder.Outcome) {
        guard let words = Self.words(outcome) else { return }
        Terminal.complain(PrintableText.escaping("chatfs: \(file.path): \(words)"))
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

    private func report(absent: [(file: SavedFile, reason: String)]) {
        for (reason, files) in Dictionary(grouping: absent, by: \.reason).sorted(by: { $0.key < $1.key }) {
            for (file, _) in files.prefix(Self.maxNamed) {
                Terminal.complain(PrintableText.escaping("chatfs: \(file.path): \(reason)"))
            }
            if files.count > Self.maxNamed {
                Terminal.complain("chatfs: \(files.count - Self.maxNamed) more files: \(reason)")
            }
        }
    }
}
