/// Files of one folder to show in a desktop program.
public struct FileLocation: Hashable, Sendable {
    /// Absolute paths.
    public var paths: [String]
    /// True to open them in their programs, false to select them in a file manager.
    public var opens: Bool

    public init(_ paths: [String], opens: Bool) {
        self.paths = paths
        self.opens = opens
    }

    /// The encoded request, with as many paths as fit into the pipe; nil for none.
    var request: [UInt8]? {
        var (some, length) = ([String](), 0)
        for path in paths {
            length += path.utf8.count + 1
            guard length <= Self.maxLength else { break }
            some.append(path)
        }
        return some.isEmpty ? nil : BusRequest.reveal(some, opens: opens).encoded
    }

    private static let maxLength = 4000
}

/// A small picture in a notification.
public struct NotificationPicture: Hashable, Sendable {
    public var width: Int
    public var height: Int
    /// Bytes of red, green and blue, row by row.
    public var pixels: [UInt8]

    /// Maximum length of the longer side in pixels.
    public static let side = 96

    /// Returns nil if the pixels do not match the sides.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        guard 1...Self.side ~= width, 1...Self.side ~= height, pixels.count == 3 * width * height else {
            return nil
        }
        self.width = width
        self.height = height
        self.pixels = pixels
    }
}
