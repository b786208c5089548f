import Base
import Cryptography

/// The link through which all thumbnail links of a mount lead: `thumbnails/.chatfs-…`, pointing into the mount.
///
/// It keeps the thumbnail links short for any mountpoint. From 60 bytes on, a link needs its own block (ext4), which
/// makes creating ten times and deleting a hundred times slower.
struct MountLink {
    /// The path of the mount.
    let mountpoint: String
    /// The name in the thumbnail cache folder.
    let name: String
    private let start: String

    private static let mark = ".chatfs-"
    private static let folder = "/.chatfs/thumbnails"

    init(mountpoint: String) {
        self.mountpoint = mountpoint
        name = Self.mark + Hexadecimal.encode(MD5.hash(Array(mountpoint.utf8)).prefix(8))
        start = "../\(name)/"
    }

    /// Parses a link. Returns nil if name or target belong to another link.
    init?(name: String, target: String) {
        guard name.hasPrefix(Self.mark), target.endsWithBytes(of: Self.folder) else { return nil }
        self.init(mountpoint: String(decoding: target.utf8.dropLast(Self.folder.utf8.count), as: UTF8.self))
        guard self.name == name else { return nil }
    }

    /// The target of the link.
    var target: String { mountpoint + Self.folder }

    /// Returns the target of a thumbnail link, relative to the folder of its size.
    func target(of place: ThumbnailPlace) -> String { "\(start)\(place.size.rawValue)/\(place.fileName)" }

    /// Returns whether a link leads through this one.
    func isUsed(by target: String) -> Bool { target.utf8.starts(with: start.utf8) }
}
