/// A thumbnail of a file of the mount: the file, the size and the URI spelling.
public struct ThumbnailPlace: Hashable, Sendable {
    /// Identifies the file within the mount.
    public var entry: UInt64
    public var size: ThumbnailSize
    public var spelling: FileURI

    public init(entry: UInt64, size: ThumbnailSize, spelling: FileURI) {
        self.entry = entry
        self.size = size
        self.spelling = spelling
    }

    private static let ending = ".png"
    private static let qtEnding = "-qt.png"

    public var fileName: String { String(entry) + (spelling == .glib ? Self.ending : Self.qtEnding) }

    /// Parses a name in the folder of a size.
    public init?(fileName: String, size: ThumbnailSize) {
        let spelling: FileURI = fileName.hasSuffix(Self.qtEnding) ? .qt : .glib
        let ending = spelling == .glib ? Self.ending : Self.qtEnding
        guard fileName.hasSuffix(ending), let entry = UInt64(fileName.dropLast(ending.count)) else {
            return nil
        }
        self.init(entry: entry, size: size, spelling: spelling)
        // Accept only the canonical name.
        guard self.fileName == fileName else { return nil }
    }
}
