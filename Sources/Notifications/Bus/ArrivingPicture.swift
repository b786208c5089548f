import MessageBus

/// A picture on its way to a notification, in pieces that fit into the pipe.
struct ArrivingPicture: Sendable {
    private let width: Int
    private let height: Int
    private var pixels: [UInt8] = []

    /// Pixels of the longer side, at most.
    static let maxSide: UInt64 = 128
    /// Bytes of one piece.
    static let piece = 4000

    /// Nil where no picture has these sides.
    init?(width: UInt64, height: UInt64) {
        guard 1...Self.maxSide ~= width, 1...Self.maxSide ~= height else { return nil }
        (self.width, self.height) = (Int(width), Int(height))
    }

    private var length: Int { 3 * width * height }

    mutating func add(_ bytes: [UInt8]) {
        // More than belongs to it makes it none.
        pixels += bytes.prefix(length + 1 - pixels.count)
    }

    /// Nil while pixels are missing.
    var value: BusValue? {
        pixels.count == length
            ? .picture(width: Int32(width), height: Int32(height), pixels: pixels) : nil
    }
}
