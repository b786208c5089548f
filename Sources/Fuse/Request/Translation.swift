import Base
import CFuse3
import FileSystem
import Glibc
import Namespace

/// Cache timeouts of the kernel in seconds. Changes are invalidated explicitly (`KernelNotices`), so the timeouts are
/// long; without one, each `stat` is a round trip and fifty times slower. Negative lookups are not cached, so new names
/// appear at once.
enum CacheTimeout {
    static let settled = 3600.0
    /// For sizes and states that change without a notice.
    static let moving = 1.0
    static let never = 0.0
}

/// User and group of all files.
struct Owner: Sendable {
    let user: uid_t
    let group: gid_t
}

extension Attributes {
    var cacheTimeout: Double {
        switch keeping {
        case .untilNotice: CacheTimeout.settled
        case .moment: CacheTimeout.moving
        case .never: CacheTimeout.never
        }
    }

    func status(of owner: Owner) -> stat {
        var status = stat()
        status.st_ino = UInt(id.rawValue)
        status.st_mode = (isFolder ? S_IFDIR : S_IFREG) | mode_t(permissions)
        status.st_nlink = nlink_t(links)
        status.st_uid = owner.user
        status.st_gid = owner.group
        status.st_size = off_t(clamping: size)
        status.st_blocks = blkcnt_t(clamping: blocks)
        status.st_blksize = 4096
        // Whole seconds, as in messages and as thumbnails and rsync compare them.
        status.st_mtim = timespec(tv_sec: Int(modified.seconds), tv_nsec: 0)
        status.st_atim = status.st_mtim
        status.st_ctim = status.st_mtim
        return status
    }

    func entry(of owner: Owner) -> fuse_entry_param {
        var entry = fuse_entry_param()
        entry.ino = id.rawValue
        // Inode numbers are never reused, so one generation is enough.
        entry.generation = 1
        entry.attr = status(of: owner)
        entry.attr_timeout = cacheTimeout
        entry.entry_timeout = CacheTimeout.settled
        return entry
    }
}

extension AttributeChange {
    /// Reads the fields of `status` selected by `fields` (FUSE_SET_ATTR_…).
    init(_ status: stat, fields: Int32, owner: Owner) {
        func has(_ bit: Int32) -> Bool { fields & bit != 0 }
        let changesUser = has(FUSE_SET_ATTR_UID) && status.st_uid != owner.user
        let changesGroup = has(FUSE_SET_ATTR_GID) && status.st_gid != owner.group
        var modified: Time?
        if has(FUSE_SET_ATTR_MTIME_NOW) {
            modified = .now
        } else if has(FUSE_SET_ATTR_MTIME) {
            modified = .at(Timestamp(seconds: Int64(status.st_mtim.tv_sec)))
        }
        self.init(
            permissions: has(FUSE_SET_ATTR_MODE) ? UInt16(status.st_mode & 0o7777) : nil,
            changesOwner: changesUser || changesGroup,
            size: has(FUSE_SET_ATTR_SIZE) ? UInt64(clamping: status.st_size) : nil, modified: modified)
    }
}

extension EntryName {
    /// The kernel always sends the names of a request.
    init(_ name: UnsafePointer<CChar>?) {
        self.init(name.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? [])
    }
}

/// The `fuse_file_info` of an open request, copied for replies after libfuse freed its own.
struct Opening: @unchecked Sendable {
    // Safe: a plain C struct of numbers, copied.
    private let asked: fuse_file_info

    init(_ info: UnsafePointer<fuse_file_info>?) { asked = info?.pointee ?? fuse_file_info() }

    /// Flags of open(2).
    var flags: Int32 { asked.flags }

    /// Passes a handle to the kernel, which holds it until release.
    func info(of handle: FileHandle) -> fuse_file_info {
        var info = asked
        info.fh = UInt64(UInt(bitPattern: Unmanaged.passRetained(handle).toOpaque()))
        // Without this flag every open drops the file's cached pages; notices invalidate changed content.
        info.keep_cache = handle.keepsPages ? 1 : 0
        info.direct_io = handle.bypassesPages ? 1 : 0
        // Saves a round trip for each close(2).
        info.noflush = handle.needsNoFlush ? 1 : 0
        return info
    }
}

extension FileHandle {
    /// Returns the kernel's handle; nil if the opening has none.
    static func of(_ info: UnsafePointer<fuse_file_info>?) -> FileHandle? {
        info.flatMap { reference($0.pointee) }?.takeUnretainedValue()
    }

    /// Takes the handle back at release; the caller is its last user.
    static func taken(from info: UnsafePointer<fuse_file_info>?) -> FileHandle? {
        info.flatMap { taken(from: $0.pointee) }
    }

    static func taken(from info: fuse_file_info) -> FileHandle? { reference(info)?.takeRetainedValue() }

    private static func reference(_ info: fuse_file_info) -> Unmanaged<FileHandle>? {
        UnsafeMutableRawPointer(bitPattern: UInt(info.fh)).map { Unmanaged<FileHandle>.fromOpaque($0) }
    }
}
