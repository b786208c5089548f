import Base
import ChatCore
import Glibc
import Posix

/// The stored sets of pinned files and of partly read files to be received completely. Two text files with
/// one number per line; they survive a kill. Thread-safe; changes block on disk I/O.
public final class RetentionList: Sendable {
    private static let pins = "pinned"
    private static let unfinished = "unfinished"
    private let folder: OpenFile
    /// The contents when this object was created.
    public let pinnedBefore: Set<FileID>
    let unfinishedBefore: Set<FileID>
    /// One thread, so that changes are ordered.
    private static let writing = ThreadPool(name: "retention", threads: 1)

    /// - Parameter folder: An open folder of one profile that this process has locked.
    /// - Throws: `cache` if the lists cannot be read.
    public init(in folder: OpenFile) throws(HydrationError) {
        self.folder = folder
        do throws(SystemError) {
            pinnedBefore = try Self.read(Self.pins, in: folder)
            unfinishedBefore = try Self.read(Self.unfinished, in: folder)
        } catch {
            throw HydrationError(
                .cache, "The list of pinned or unfinished files cannot be read. \(error.sentence)",
                cause: error)
        }
    }

    private static func read(_ name: String, in folder: OpenFile) throws(SystemError) -> Set<FileID> {
        guard faccessat(folder.descriptor, name, F_OK, 0) == 0 else { return [] }
        let bytes = try OpenFile(name, flags: O_RDONLY, in: folder).readAll(limit: 16 << 20)
        let numbers = bytes.split(separator: UInt8(ascii: "\n")).compactMap {
            Int64(String(decoding: $0, as: UTF8.self))
        }
        return Set(numbers.map(FileID.init))
    }

    /// Stores the pinned files durably.
    /// - Parameter current: Called when the list is written, so that an older list never replaces a newer
    ///   one.
    func savePinned(_ current: @escaping @Sendable () -> Set<FileID>) async throws(HydrationError) {
        try await write(Self.pins, current)
    }

    /// Like `savePinned`, for unfinished files.
    func saveUnfinished(_ current: @escaping @Sendable () -> Set<FileID>) async throws(HydrationError) {
        try await write(Self.unfinished, current)
    }

    private func write(
        _ name: String, _ files: @escaping @Sendable () -> Set<FileID>
    ) async throws(HydrationError) {
        do throws(SystemError) {
            try await Self.writing.run { () throws(SystemError) in
                let lines = files().sorted().map { "\($0.rawValue)\n" }.joined()
                try PrivateFolder.write(Array(lines.utf8), to: name, in: self.folder)
            }
        } catch {
            throw HydrationError(
                .cache, "The list of pinned or unfinished files cannot be written. \(error.sentence)",
                cause: error)
        }
    }
}
