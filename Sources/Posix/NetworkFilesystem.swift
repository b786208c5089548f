import Base
import CLinux
import Glibc

/// Filesystems on other machines. A database in WAL mode needs shared memory and locks for all of its processes, which
/// such a filesystem provides on one machine at most.
public enum NetworkFilesystem {
    /// Returns the network filesystem of `path` or of its nearest existing folder. Nil for a local disk and for unknown
    /// cases, such as FUSE.
    public static func name(at path: String) -> String? {
        var path = path
        while true {
            var type: UInt32 = 0
            if chatfs_filesystem_type(path, &type) == 0 { return name(ofType: type) }
            guard errno == ENOENT, path.utf8.contains(UInt8(ascii: "/")), path != "/" else { return nil }
            path = path.parentPath
        }
    }

    /// By the number of statfs(2), from linux/magic.h and from the filesystems.
    static func name(ofType type: UInt32) -> String? {
        switch type {
        case 0x6969: "NFS"
        case 0x517B, 0xFF53_4D42, 0xFE53_4D42: "SMB"
        case 0x0102_1997: "9p"
        case 0x5346_414F, 0x6B41_4653: "AFS"
        case 0x00C3_6400: "Ceph"
        case 0x7375_7245: "Coda"
        case 0x0BD0_0BD0: "Lustre"
        case 0x4750_4653: "GPFS"
        case 0x1983_0326: "BeeGFS"
        default: nil
        }
    }
}
