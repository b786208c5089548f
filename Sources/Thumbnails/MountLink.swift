import Base
import Cryptography

/// The one link through which all links of a mount lead: `thumbnails/.chatfs-…`, into the mount itself.
///
/// So the many are short, however long the path of the mount is. Of 60 bytes and more a link needs a block on the disk
/// (ext4), which takes ten times as long to make and a hundred times to remove.
struct MountLink {
    /// Of the mount.
    let mountpoint: String
    /// In the folder of the thumbnail cache.
    let name: String
    private let start: String

    private static let mark = ".chatfs-"
    private static let folder = "/.chatfs/thumbnails"

    init(mountpoint: String) {
        self.mountpoint = mountpoint
        name = Self.mark + Hexadecimal.encode(MD5.hash(Array(mountpoint.utf8)).prefix(8))
        start = "../\(name)/"
    }

    /// What is called so and leads there; nil when it is something else.
    init?(name: String, target: String) {
        guard name.hasPrefix(Self.mark), target.endsWithBytes(of: Self.folder) else { return nil }
        self.init(mountpoint: String(decoding: target.utf8.dropLast(Self.folder.utf8.count), as: UTF8.self))
        guard self.name == name else { return nil }
    }

    /// Where it leads.
    var target: String { mountpoint + Self.folder }

    /// Where the link to a thumbnail leads, seen from the folder of its size.
    func target(of place: ThumbnailPlace) -> String { "\(start)\(place.size.rawValue)/\(place.fileName)" }

    /// Whether a link leads through this one.
    func isUsed(by target: String) -> Bool { target.utf8.starts(with: start.utf8) }
}
