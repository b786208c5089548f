import Glibc
import Posix

/// A file beside a database that only takes room, which a full disk gives to changes that free some: without it nothing
/// could be deleted there. Blocks; one thread at a time.
struct ReservedSpace: Sendable {
    /// A deletion writes some pages of the database into its journal.
    static let size = 256 << 10

    private let path: String

    /// - Parameter path: of the database.
    init(besides path: String) { self.path = path + "-reserve" }

    /// Takes the room where it is not taken yet. A full disk has none: then the next call takes it.
    func take() {
        guard let file = try? OpenFile(path, flags: O_RDWR | O_CREAT) else { return }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0, status.st_size < off_t(Self.size) || status.st_blocks == 0
        else {
            return
        }
        // A disk that is nearly full has room for a part of it.
        for part in [1, 2, 4] {
            if posix_fallocate(file.descriptor, 0, Self.size / part) == 0 { return }
            ftruncate(file.descriptor, 0)
        }
    }

    /// Gives the room back. False where there was none.
    func release() -> Bool {
        guard let file = try? OpenFile(path, flags: O_RDWR), let status = try? file.status(),
            status.st_size > 0
        else { return false }
        return ftruncate(file.descriptor, 0) == 0
    }
}
