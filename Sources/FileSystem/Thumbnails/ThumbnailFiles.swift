import Base
import ChatCore
import Glibc
import Namespace
import Posix
import Thumbnails

/// Implements `.chatfs/thumbnails`. Renders thumbnails of message previews on lookup and caches them in memory only.
/// Thread-safe.
final class ThumbnailFiles: Sendable {
    private struct Made {
        var bytes: [UInt8]
        var subject: Subject
    }

    /// The entry that a thumbnail shows.
    private struct Subject: Hashable {
        var item: ItemID
        var chat: ChatReference
        var uri: String
        var modified: Timestamp
    }

    /// The kernel's references to a thumbnail, with the attributes it was given.
    private struct Told {
        var size: UInt64
        var subject: Subject
        var count: UInt64
    }

    private struct State {
        var recent = RecentBytes<ThumbnailPlace, Made>(limit: 4 << 20)
        var told: [NodeID: Told] = [:]
        var underWay: [ThumbnailPlace: Task<Made, any Error>] = [:]
        /// Entries whose previews cannot be decoded; not retried.
        var broken: Set<UInt64> = []
    }

    private let names: Namespace
    private let core: any ChatCore
    private let loader: FolderLoader
    private let kernel: KernelConnection
    private let mountpoint: String
    private let maker: any ThumbnailMaking
    private let offers: PreviewOffers
    /// Maximum wait for the core and the decoding process.
    private let deadline: Duration
    private let beginning: Timestamp
    private let state = Lock(State())

    init(
        names: Namespace, core: any ChatCore, loader: FolderLoader, kernel: KernelConnection,
        mountpoint: String, maker: any ThumbnailMaking, offers: PreviewOffers, deadline: Duration,
        beginning: Timestamp
    ) {
        self.names = names
        self.core = core
        self.loader = loader
        self.kernel = kernel
        self.mountpoint = mountpoint
        self.maker = maker
        self.offers = offers
        self.deadline = deadline
        self.beginning = beginning
    }

    // MARK: - Requests

    /// Returns nil if the name is not a thumbnail's.
    func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes>? {
        if folder == .control, name == ThumbnailNodes.folderName {
            return .done(folderAttributes(ThumbnailNodes.folder))
        }
        if folder == ThumbnailNodes.folder {
            let size = ThumbnailSize.allCases.first { EntryName("\($0.rawValue)") == name }
            return size.map { .done(folderAttributes(ThumbnailNodes.folder(of: $0))) } ?? .refused(.notFound)
        }
        guard ThumbnailNodes.holds(folder), let size = ThumbnailNodes.size(of: folder) else { return nil }
        guard let place = ThumbnailPlace(fileName: name.description, size: size) else {
            return .refused(.notFound)
        }
        return attributes(of: place, isKept: true)
    }

    /// Returns nil if the node is not a thumbnail's.
    func attributes(_ id: NodeID) -> Answer<Attributes>? {
        guard ThumbnailNodes.holds(id) else { return nil }
        guard let place = ThumbnailNodes.place(of: id) else { return .done(folderAttributes(id)) }
        return attributes(of: place, isKept: false)
    }

    func bytes(of place: ThumbnailPlace) -> Answer<[UInt8]> {
        withSubject(of: place) { [self] subject in
            if let made = state.withLock({ $0.recent[place] }), made.subject == subject {
                return .done(made.bytes)
            }
            return .waiting { [self] in try await made(place, subject).bytes }
        }
    }

    /// Drops kernel references.
    func forget(_ id: NodeID, _ count: UInt64) {
        guard ThumbnailNodes.holds(id) else { return }
        state.withLock { state in
            guard let told = state.told[id] else { return }
            if told.count <= count { state.told[id] = nil } else { state.told[id]?.count -= count }
        }
    }

    // MARK: - Replies

    private func attributes(of place: ThumbnailPlace, isKept: Bool) -> Answer<Attributes> {
        withSubject(of: place) { [self] subject in
            let id = ThumbnailNodes.id(of: place)
            let known = state.withLock { state in
                state.told[id].flatMap { $0.subject == subject ? $0.size : nil }
                    ?? state.recent[place].flatMap { $0.subject == subject ? UInt64($0.bytes.count) : nil }
            }
            if let known { return .done(attributes(of: id, known, subject, isKept)) }
            return .waiting { [self] in
                let size = UInt64(try await made(place, subject).bytes.count)
                return attributes(of: id, size, subject, isKept)
            }
        }
    }

    /// - Parameter isKept: True if the kernel holds a reference from now on.
    private func attributes(
        of id: NodeID, _ size: UInt64, _ subject: Subject, _ isKept: Bool
    ) -> Attributes {
        if isKept {
            let before = state.withLock { state in
                let before = state.told[id]
                state.told[id] = Told(size: size, subject: subject, count: (before?.count ?? 0) + 1)
                return before
            }
            // Its name or time changed, so older pages are stale.
            if let before, before.subject != subject { kernel.notify(.content(id)) }
        }
        return Attributes(
            id: id, isFolder: false, permissions: 0o400, size: size, blocks: size / 512 + 1,
            modified: subject.modified, links: 1, keeping: .moment)
    }

    private func folderAttributes(_ id: NodeID) -> Attributes {
        Attributes(
            id: id, isFolder: true, permissions: 0o500, size: 0, blocks: 0, modified: beginning, links: 2,
            keeping: .untilNotice)
    }

    // MARK: - Rendering

    /// Runs `body` with the entry shown. Answers ENOENT if the entry is gone or has no usable preview.
    private func withSubject<Value: Sendable>(
        of place: ThumbnailPlace, _ body: @escaping @Sendable (Subject) -> Answer<Value>
    ) -> Answer<Value> {
        if let subject = subject(of: place) { return body(subject) }
        if state.withLock({ $0.broken.contains(place.entry) }) { return .refused(.notFound) }
        let isThere = loader.whenKnown(NodeID(place.entry)) { [names] () -> Answer<Void> in
            names.node(NodeID(place.entry)) == nil ? .refused(.gone) : .done(())
        }
        return .later { [self] in
            guard case .success = await isThere.result(), let subject = subject(of: place) else {
                return .failure(.notFound)
            }
            return await body(subject).result()
        }
    }

    /// Answers from memory; nil if there is none or it is not loaded.
    private func subject(of place: ThumbnailPlace) -> Subject? {
        guard let node = names.node(NodeID(place.entry)), node.hasPreview,
            case .item(let item) = node.content,
            let folder = names.node(node.folder),
            !state.withLock({ $0.broken.contains(place.entry) })
        else { return nil }
        let path = Array("\(mountpoint)/".utf8) + folder.name.bytes + Array("/".utf8) + node.name.bytes
        return Subject(
            item: item.id, chat: item.chat, uri: place.spelling.text(of: path),
            modified: node.modified ?? item.time)
    }

    /// Renders once for all concurrent callers.
    private func made(_ place: ThumbnailPlace, _ subject: Subject) async throws -> Made {
        let task = state.withLock { state in
            if let task = state.underWay[place] { return task }
            let task = Task {
                defer { self.state.withLock { $0.underWay[place] = nil } }
                return try await self.make(place, subject)
            }
            state.underWay[place] = task
            return task
        }
        guard let result = await task.result(within: deadline) else {
            throw Task.isCancelled ? FileSystemError(EINTR) : FileSystemError(ETIMEDOUT, isFailure: true)
        }
        return try result.get()
    }

    private func make(_ place: ThumbnailPlace, _ subject: Subject) async throws -> Made {
        let preview = try await core.preview(of: subject.item, in: subject.chat)
        guard
            let bytes = await maker.thumbnail(
                preview: preview, side: place.size.rawValue, uri: subject.uri,
                modified: subject.modified.seconds)
        else {
            state.withLock { _ = $0.broken.insert(place.entry) }
            offers.withdraw(NodeID(place.entry))
            throw FileSystemError.notFound
        }
        let made = Made(bytes: bytes, subject: subject)
        state.withLock { $0.recent.add(made, ofSize: bytes.count, for: place) }
        return made
    }
}
