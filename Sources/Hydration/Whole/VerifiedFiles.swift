import Base
import Glibc
import Posix

/// Which file it is and when it last changed: by this a check of a stored file is remembered.
struct FileStamp: Hashable, Sendable {
    private var device: UInt
    private var inode: UInt
    private var size: Int
    private var modified: Int
    private var modifiedNanoseconds: Int
    private var changed: Int
    private var changedNanoseconds: Int

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        modified = status.st_mtim.tv_sec
        modifiedNanoseconds = status.st_mtim.tv_nsec
        changed = status.st_ctim.tv_sec
        changedNanoseconds = status.st_ctim.tv_nsec
    }
}

/// A file of the core's as it was when it was opened and checked.
struct StoredFile: Sendable {
    let path: String
    let stamp: FileStamp

    /// False when it was changed since, taken away, or has another in its place. One stat(2).
    var isUnchanged: Bool {
        var status = stat()
        return stat(path, &status) == 0 && FileStamp(status) == stamp
    }
}

/// Files whose tag was found right by this process. One that was changed since, which nobody should, is
/// another by its times. Any thread.
final class VerifiedFiles: Sendable {
    /// What is not remembered is checked again: no harm but time.
    private static let most = 10_000
    /// So often a check is begun of a file that changes meanwhile.
    private static let tries = 3

    private let stamps = Lock<Set<FileStamp>>([])

    /// The stamp under which a file was found right: by an earlier check, or by `verify` now. `changing`
    /// when it is never the same before and after.
    func check(_ file: OpenFile, verify: () throws -> Void) throws -> FileStamp {
        for _ in 0..<Self.tries {
            let stamp = FileStamp(try file.status())
            if stamps.withLock({ $0.contains(stamp) }) { return stamp }
            try verify()
            if FileStamp(try file.status()) == stamp {
                add(stamp)
                return stamp
            }
        }
        throw HydrationError(.changing, "Somebody writes to the stored file while it is checked; read again.")
    }

    /// Without a check, what this process has just written.
    func add(_ stamp: FileStamp) {
        stamps.withLock { stamps in
            if stamps.count >= Self.most { stamps.removeAll() }
            stamps.insert(stamp)
        }
    }
}
