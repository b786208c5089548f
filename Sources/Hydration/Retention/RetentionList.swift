import Base
import ChatCore
import Glibc
import Posix

/// Which files are pinned, and which have been read and are still to be received to their end: kept over
/// mounts, also over one that is killed. Two files with one number in each line. Any thread; changes block on
/// the disk.
public final class RetentionList: Sendable {
    private static let pins = "pinned"
    private static let unfinished = "unfinished"
    private let folder: OpenFile
    /// As they were when this object was made.
    let pinnedBefore: Set<FileID>
    let unfinishedBefore: Set<FileID>
    /// One change of a file after the other.
    private static let writing = ThreadPool(name: "retention", threads: 1)

    /// - Parameter folder: open, belonging to one profile that this process holds.
    /// - Throws: `cache` when the lists cannot be read.
    public init(in folder: OpenFile) throws(HydrationError) {
        self.folder = folder
        do throws(SystemError) {
            pinnedBefore = try Self.read(Self.pins, in: folder)
            unfinishedBefore = try Self.read(Self.unfinished, in: folder)
        } catch {
            throw HydrationError(
                .cache, "The list of files to be kept whole cannot be read. \(error.sentence)",
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

    /// Durable when it returns.
    /// - Parameter current: asked when the list is written, so that an older one never replaces a newer one.
    func savePinned(_ current: @escaping @Sendable () -> Set<FileID>) async throws(HydrationError) {
        try await write(Self.pins, current)
    }

    /// As `savePinned`.
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
                .cache, "The list of files to be kept whole cannot be written. \(error.sentence)",
                cause: error)
        }
    }
}
