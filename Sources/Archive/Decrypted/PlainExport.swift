import Base
import ChatCore
import EmbeddedCore
import Namespace

/// The files of some chats of a profile for a folder in clear, also while the profile is mounted: files never change
/// once they are there, and what is deleted meanwhile is as if it had been before. All calls block.
public struct PlainExport: Sendable {
    /// A file, and where it goes.
    public struct Candidate: Sendable {
        public let item: ChatItem
        public let chat: NamedChat
        /// Names of the folder and the file, as a mount has them.
        public let folder: String
        public let name: String
    }

    /// Newest first in each chat.
    public let candidates: [Candidate]
    private static let page = 1000

    /// - Parameter chats: of the profile.
    /// - Throws: `ChatError`, `NamespaceError`.
    public init(of profile: Profile, in directory: DataDirectory, chats: [NamedChat]) throws {
        let own = try directory.folders(of: profile).own
        let names = try RecordedNames(path: own + "/names.sqlite", key: directory.key)
        var candidates: [Candidate] = []
        var taken: Set<String> = []
        for chat in chats {
            let folder = Self.free(
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

    private static func free(_ name: String, _ taken: inout Set<String>) -> String {
        var (free, number) = (name, 1)
        while !taken.insert(free).inserted {
            number += 1
            free = SafeFileName.numbered(name, number)
        }
        return free
    }

    /// Bytes of those that are here.
    public var total: UInt64 {
        candidates.lazy.compactMap(\.item.file).filter { $0.source != nil }.map(\.size).saturatingSum
    }

    /// Puts them there, oldest first, so that a name goes to the same file whenever it is given.
    /// - Parameters:
    ///   - told: of each file what became of it.
    ///   - progress: told bytes done of all, often.
    /// - Throws: `ArchiveError` `.noSpace`: what is there by then is whole, and the next run goes on.
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
        // Of a full disk too: what was written is to be known. Where even that cannot be, it is said.
        try folder.save()
        if let failure { throw failure }
    }
}
