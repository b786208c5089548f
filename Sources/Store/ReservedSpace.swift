import Glibc
import Posix

/// A file next to a database that reserves disk space. A full disk releases it for changes that free space; otherwise
/// nothing could be deleted there. Blocks; one thread at a time.
struct ReservedSpace: Sendable {
    /// In bytes. A deletion writes several database pages to the journal.
    static let size = 256 << 10

    private let path: String

    /// - Parameter path: The path of the database.
    init(besides path: String) { self.path = path + "-reserve" }

    /// Reserves the space if it is not reserved yet. On a full disk a later call does it.
    func take() {
        guard let file = try? OpenFile(path, flags: O_RDWR | O_CREAT), let status = try? file.status() else {
            return
        }
        // A copy may have a size without space.
        let reserved = status.st_blocks == 0 ? 0 : status.st_size
        // A nearly full disk may have room for a part of it. Others could take a part that is given up for a moment.
        for part in [1, 2, 4] where off_t(Self.size / part) > reserved {
            if posix_fallocate(file.descriptor, 0, off_t(Self.size / part)) == 0 { return }
            ftruncate(file.descriptor, reserved)
        }
    }

    /// Releases the space. Returns false if none was reserved.
    func release() -> Bool {
        guard let file = try? OpenFile(path, flags: O_RDWR), let status = try? file.status(),
            status.st_size > 0
        else { return false }
        return ftruncate(file.descriptor, 0) == 0
    }
}
