import Base
import ChatCore
import EmbeddedCore
import Namespace

/// Exports files of some chats of a profile to a folder of decrypted files. The profile may be mounted: stored files
/// never change, and files deleted meanwhile are skipped. All calls block.
public struct PlainExport: Sendable {
    /// A file and its destination.
    public struct Candidate: Sendable {
        public let item: ChatItem
        public let chat: NamedChat
        /// The names of folder and file in a mount.
        public let folder: String
        public let name: String
    }

    /// The newest first in each chat.
    public let candidates: [Candidate]
    private static let page = 1000

    /// - Parameter chats: Chats of the profile.
    /// - Throws: `ChatError`, `NamespaceError`.
    public init(of profile: Profile, in directory: DataDirectory, chats: [NamedChat]) throws {
        let own = try directory.folders(of: profile).own
        let names = try RecordedNames(path: own + "/names.sqlite", key: directory.key)
        var candidates: [Candidate] = []
        var taken = PlainFolder.reservedNames
        for chat in chats {
            let folder = SafeFileName.free(
                chat.folder ?? SafeFileName.make(fromTitle: chat.name) ?? "chat", &taken)
            var last: ItemID?
            while true {
                let items = try directory.items(
                    of: chat.reference, of: profile, before: last, count: Self.page)
                for item in items where item.file != nil {
                    let shown = try names.path(of: item.id)?.lastPathName
                    let name =
                        shown ?? SafeFileName.make(from: item.file?.name ?? "") ?? "file-\(item.id.rawValue)"
                    candidates.append(Candidate(item: item, chat: chat, folder: folder, name: name))
                }
                guard let oldest = items.last, items.count == Self.page else { break }
                last = oldest.id
            }
        }
        self.candidates = candidates
    }

    /// The size of the local files in bytes.
    public var total: UInt64 {
        candidates.lazy.compactMap(\.item.file).filter { $0.source != nil }.map(\.size).saturatingSum
    }

    /// Exports the files, oldest first, so that equal names get the same numbers in each run.
    /// - Parameters:
    ///   - told: Receives the outcome of each file.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Throws: `ArchiveError` `.noSpace`. The written files are complete, and the next run continues.
    public func run(
        into folder: PlainFolder, told: (Candidate, PlainFolder.Outcome) -> Void,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(ArchiveError) {
        let total = total
        var done: UInt64 = 0
        var failure: ArchiveError?
        for candidate in candidates.reversed() {
            let before = done
            if let file = candidate.item.file, file.source != nil { done.addSaturating(file.size) }
            var position = before
            do throws(ArchiveError) {
                let outcome = try folder.put(
                    candidate.item, chat: (candidate.folder, candidate.chat.name), name: candidate.name
                ) { count in
                    position += count
                    progress(min(position, done), total)
                }
                told(candidate, outcome)
            } catch {
                failure = error
                break
            }
            progress(done, total)
        }
        // Save the list even on a full disk, and report if that fails.
        try folder.save()
        if let failure { throw failure }
    }
}
