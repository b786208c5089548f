import Base
import CLinux
import Glibc

/// Filesystems that lie on another machine. A database in WAL mode needs memory that its processes share, and locks
/// that hold for all of them: there both work only as long as everybody is on this machine, or not at all.
public enum NetworkFilesystem {
    /// Which one `path` lies on, or would: its nearest folder that is there counts. Nil for a disk of this machine,
    /// and for what cannot be known (FUSE may have anything behind it).
    public static func name(at path: String) -> String? {
        var path = path
        while true {
            var type: UInt32 = 0
            if chatfs_filesystem_type(path, &type) == 0 { return name(ofType: type) }
            guard errno == ENOENT, path.utf8.contains(UInt8(ascii: "/")), path != "/" else { return nil }
            path = path.parentPath
        }
    }

    /// By the number that statfs(2) gives: those of linux/magic.h and of the filesystems themselves.
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
