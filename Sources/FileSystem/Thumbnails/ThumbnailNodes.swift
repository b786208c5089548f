import Namespace
import Thumbnails

/// Computes the inode numbers of `.chatfs/thumbnails` from their meaning. Stateless. No listing contains these entries;
/// programs reach them through offered links.
enum ThumbnailNodes {
    static let folder = NodeID(16)
    static let folderName = EntryName("thumbnails")

    /// Number of the first size's folder.
    private static let firstOfSizes: UInt64 = 17
    /// Bits above an entry's number, which no index reaches: bit 62 marks thumbnails, two bits hold the size, one the
    /// spelling.
    private static let mark: UInt64 = 1 << 62
    private static let sizeShift: UInt64 = 59
    private static let qtMark: UInt64 = 1 << 58

    /// Called for every inode number, so without a lock.
    static func holds(_ id: NodeID) -> Bool {
        id.rawValue & mark != 0 || (folder.rawValue..<firstOfSizes + 4).contains(id.rawValue)
    }

    static func folder(of size: ThumbnailSize) -> NodeID { NodeID(firstOfSizes + index(of: size)) }

    static func size(of folder: NodeID) -> ThumbnailSize? {
        ThumbnailSize.allCases.first { self.folder(of: $0) == folder }
    }

    static func id(of place: ThumbnailPlace) -> NodeID {
        NodeID(
            mark | index(of: place.size) << sizeShift | (place.spelling == .qt ? qtMark : 0)
                | place.entry & (qtMark - 1))
    }

    static func place(of id: NodeID) -> ThumbnailPlace? {
        guard id.rawValue & mark != 0 else { return nil }
        let size = ThumbnailSize.allCases[Int(id.rawValue >> sizeShift & 3)]
        return ThumbnailPlace(
            entry: id.rawValue & (qtMark - 1), size: size,
            spelling: id.rawValue & qtMark != 0 ? .qt : .glib)
    }

    /// Returns nil if the number is not a thumbnail's.
    static func node(_ id: NodeID) -> Node? {
        if id == folder { return Node(id: id, folder: .control, name: folderName, content: .thumbnails) }
        if let size = size(of: id) {
            return Node(id: id, folder: folder, name: EntryName("\(size.rawValue)"), content: .thumbnails)
        }
        guard let place = place(of: id) else { return nil }
        return Node(
            id: id, folder: folder(of: place.size), name: EntryName(place.fileName), content: .thumbnail)
    }

    private static func index(of size: ThumbnailSize) -> UInt64 {
        UInt64(ThumbnailSize.allCases.firstIndex(of: size) ?? 0)
    }
}
