import MessageBus

/// A notification's picture, received in pieces that fit into the pipe.
struct IncomingPicture: Sendable {
    private let width: Int
    private let height: Int
    private var pixels: [UInt8] = []

    /// Maximum length of the longer side in pixels.
    static let maxSide: UInt64 = 128
    /// Size of a piece in bytes.
    static let piece = 4000

    /// Returns nil for invalid sides.
    init?(width: UInt64, height: UInt64) {
        guard 1...Self.maxSide ~= width, 1...Self.maxSide ~= height else { return nil }
        (self.width, self.height) = (Int(width), Int(height))
    }

    private var length: Int { 3 * width * height }

    mutating func add(_ bytes: [UInt8]) {
        // One excess byte suffices to make the picture invalid.
        pixels += bytes.prefix(length + 1 - pixels.count)
    }

    /// nil while pixels are missing.
    var value: BusValue? {
        pixels.count == length
            ? .picture(width: Int32(width), height: Int32(height), pixels: pixels) : nil
    }
}
