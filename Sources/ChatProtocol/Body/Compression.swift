/// Makes messages smaller that would not fit, and reads those of others.
public protocol Compression: Sendable {
    /// One frame that says how long its content is; nil where it cannot be made.
    func compress(_ bytes: [UInt8]) -> [UInt8]?

    /// The content of one frame, or nil for what is none, does not say its length, or has more than `limit` bytes.
    func inflate(_ frame: [UInt8], limit: Int) -> [UInt8]?
}
