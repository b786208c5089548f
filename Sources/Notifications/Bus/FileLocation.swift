/// Files of one folder that a program of the desktop is to show.
public struct FileLocation: Hashable, Sendable {
    /// Absolute.
    public var paths: [String]
    /// In their program; else selected in the window of a file manager.
    public var opens: Bool

    public init(_ paths: [String], opens: Bool) {
        self.paths = paths
        self.opens = opens
    }

    /// As many of them as go through the pipe at once; nil for none.
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

/// A small picture beside a notification.
public struct NotificationPicture: Hashable, Sendable {
    public var width: Int
    public var height: Int
    /// Bytes of red, green and blue, row by row.
    public var pixels: [UInt8]

    /// Pixels of its longer side.
    public static let side = 96

    /// Nil where these are not the pixels of such a picture.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        guard 1...Self.side ~= width, 1...Self.side ~= height, pixels.count == 3 * width * height else {
            return nil
        }
        self.width = width
        self.height = height
        self.pixels = pixels
    }
}
