import Base
import ChatCore
import Glibc
import XFTP

/// Files of added links: readers fetch their chunks, and complete files stay here.
final class LinkClaims: Sendable {
    private let core: any ChatCore
    private let store: LinkStore
    private let claimed = Lock<Set<FileID>>([])

    init(_ core: any ChatCore, _ store: LinkStore) {
        self.core = core
        self.store = store
    }

    private static let gone = ChatError(.noSuchFile, "There is no such file.")

    private func row(_ file: FileID) async throws(ChatError) -> LinkRow {
        let id = file.rawValue - FileID.firstOfLinks.rawValue
        let row = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(id) } }
        guard let row, row.status != .removed else { throw Self.gone }
        return row
    }

    func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? {
        store.location(of: try await row(file))
    }

    /// Returns the relays of an added link; empty for other entries.
    func relays(of file: FileID) async -> [String] {
        // A reader of an invalid description gets the error.
        guard let text = (try? await row(file))?.description,
            let description = try? await FileDescription.parse(text)
        else { return [] }
        return description.relays.map(\.text)
    }

    func claim(_ file: FileID) async throws(ChatError) -> ClaimedFile? {
        let row = try await row(file)
        if row.status == .lost, let problem = row.problem {
            throw ChatError(.file(problem.kind), problem.sentence)
        }
        guard row.status == .offered, let description = row.description else {
            throw ChatError(.file(.damaged), FileProblem.damagedCopy.sentence)
        }
        try await core.checkRelays(of: description)
        guard claimed.withLock({ $0.insert(file).inserted }) else {
            throw ChatError(.alreadyReceiving, "The file is being received already.")
        }
        return ClaimedFile(description: description)
    }

    func complete(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        defer { claimed.withLock { _ = $0.remove(file) } }
        let row: LinkRow
        do throws(ChatError) {
            row = try await self.row(file)
        } catch {
            await blocking.attempt("remove an unwanted file") { _ = unlink(staged.path) }
            throw error
        }
        return try await blocking.run { [store] in
            // Moved in any case: the caller may stage it again.
            defer { unlink(staged.path) }
            let name = try store.folder.keep(staged, size: row.size)
            do {
                try store.commit { change in
                    guard try change.table.setStatus(.stored, of: row.id, from: [.offered, .lost]) else {
                        throw Self.gone
                    }
                    change.abandon(try change.table.row(row.id)?.storedName)
                    try change.table.setSource(of: row.id, name, staged.arguments)
                    try change.tell(.completed, of: row.id)
                }
            } catch {
                store.folder.remove(name)
                throw error
            }
            return FileSourceLocation(path: store.folder.path + "/" + name, arguments: staged.arguments)
        }
    }

    func abandon(_ file: FileID, _ problem: FileProblem?) async {
        claimed.withLock { _ = $0.remove(file) }
        guard let problem, problem.isFinal else { return }
        let id = file.rawValue - FileID.firstOfLinks.rawValue
        await blocking.attempt("note why the file of a link is unavailable") { [store] in
            guard try store.isUsed else { return }
            try store.commit { change in
                guard try change.table.setStatus(.lost, of: id, from: [.offered], problem: problem) else {
                    return
                }
                try change.tell(.failed(problem), of: id)
            }
        }
    }

    /// Offers the file of an added link again, for as long as relays have it; the damaged copy stays until then. An
    /// upload has no other copy.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        let given = try await row(file)
        guard given.kind == .added, given.description != nil else { return .lost(.damagedCopy) }
        let offered = try await blocking.run { [store] in
            try store.commit { change -> LinkRow? in
                guard let row = try change.table.row(given.id) else { return nil }
                // Another copy arrived meanwhile, or another caller reported it.
                guard row.status == .stored, store.location(of: row) == location else {
                    return row.status == .stored || row.status == .offered ? row : nil
                }
                _ = try change.table.setStatus(.offered, of: row.id, from: [.stored])
                try change.tell(.updated, of: row.id)
                return try change.table.row(row.id)
            }
        }
        return offered.map { .offered(store.item($0)) } ?? .lost(.damagedCopy)
    }
}
