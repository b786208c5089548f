/// Compresses messages that would not fit, and inflates received ones.
public protocol Compression: Sendable {
    /// Returns one frame with its content size; nil on failure.
    func compress(_ bytes: [UInt8]) -> [UInt8]?

    /// Returns a frame's content; nil for an invalid frame, one without its content size, or more than
    /// `limit` bytes.
    func inflate(_ frame: [UInt8], limit: Int) -> [UInt8]?
}
