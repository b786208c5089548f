import Base
import ChatCore
import Glibc
import Posix

/// Which files are pinned, kept over mounts: one number in each line of a file. Any thread; changes block
/// on the disk.
public final class PinnedFiles: Sendable {
    private static let name = "pinned"
    private let folder: OpenFile
    private let files: Lock<Set<FileID>>
    /// One change of the file after the other.
    private static let writing = ThreadPool(name: "pins", threads: 1)

    /// - Parameter folder: open, belonging to one profile that this process holds.
    public init(in folder: OpenFile) throws(HydrationError) {
        self.folder = folder
        do throws(SystemError) {
            let bytes: [UInt8]
            if faccessat(folder.descriptor, Self.name, F_OK, 0) == 0 {
                bytes = try OpenFile(Self.name, flags: O_RDONLY, in: folder).readAll(limit: 16 << 20)
            } else {
                bytes = []
            }
            let numbers = bytes.split(separator: UInt8(ascii: "\n")).compactMap {
                Int64(String(decoding: $0, as: UTF8.self))
            }
            files = Lock(Set(numbers.map(FileID.init)))
        } catch {
            throw HydrationError(
                .cache, "The list of pinned files cannot be read. \(error.sentence)", cause: error)
        }
    }

    public var all: Set<FileID> { files.withLock { $0 } }

    /// Durable when it returns.
    func set(_ file: FileID, _ isPinned: Bool) async throws(HydrationError) {
        do throws(SystemError) {
            try await Self.writing.run { () throws(SystemError) in
                let now = self.files.withLock { files in
                    if isPinned { files.insert(file) } else { files.remove(file) }
                    return files.sorted()
                }
                let lines = now.map { "\($0.rawValue)\n" }.joined()
                try PrivateFolder.write(Array(lines.utf8), to: Self.name, in: self.folder)
            }
        } catch {
            throw HydrationError(
                .cache, "The list of pinned files cannot be kept. \(error.sentence)", cause: error)
        }
    }
}
