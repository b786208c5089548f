import Archive
import ChatCore
import Posix

/// Runs the blocking calls of a `PlainFolder` on the thread pool. One task at a time.
struct PlainFolderQueue: @unchecked Sendable {
    // Safe: one task uses the folder, and waits for each call.
    private let folder: PlainFolder

    /// - Throws: as `PlainFolder.init`.
    init(_ path: String, of profile: Profile) async throws {
        self = try await ThreadPool.shared.run { () throws(any Error) in
            PlainFolderQueue(folder: try PlainFolder(path, of: profile))
        }
    }

    private init(folder: PlainFolder) { self.folder = folder }

    /// Files of earlier runs.
    struct Present: Sendable {
        var unchanged = 0
        var changed: [SavedFile] = []
        /// Files that are not there.
        var missing: [SavedFile] = []
    }

    /// Compares files with those of earlier runs.
    func present(of files: [SavedFile]) async throws -> Present {
        try await ThreadPool.shared.run { () throws(any Error) in
            var present = Present()
            for file in files {
                var absent = file
                absent.item.file?.source = nil
                switch try put(now: absent) {
                case .unchanged: present.unchanged += 1
                case .changed: present.changed.append(file)
                default: present.missing.append(file)
                }
            }
            return present
        }
    }

    private func put(now file: SavedFile) throws(ArchiveError) -> PlainFolder.Outcome {
        try folder.put(file.item, chat: (file.folder, file.title), name: Self.name(of: file)) { _ in }
    }

    /// - Throws: `ArchiveError` `.noSpace`.
    func put(_ file: SavedFile) async throws -> PlainFolder.Outcome {
        try await ThreadPool.shared.run { () throws(any Error) in try put(now: file) }
    }

    /// As `PlainFolder.putLog`.
    func putLog(_ bytes: [UInt8], at offset: UInt64) async throws {
        try await ThreadPool.shared.run { () throws(any Error) in try folder.putLog(bytes, at: offset) }
    }

    /// As `PlainFolder.endLog`.
    func endLog(chat: String) async throws {
        try await ThreadPool.shared.run { () throws(any Error) in try folder.endLog(chat: chat) }
    }

    func save() async throws {
        try await ThreadPool.shared.run { () throws(any Error) in try folder.save() }
    }

    private static func name(of file: SavedFile) -> String {
        SafeFileName.make(from: file.item.file?.name ?? "") ?? "file-\(file.item.id.rawValue)"
    }
}
