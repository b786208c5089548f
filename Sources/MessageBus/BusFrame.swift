/// Frames: a length of four bytes and the content: a kind, numbers of eight bytes, and NUL-terminated texts.
public enum BusFrame {
    /// The maximum length with the length field. A pipe with room accepts this many bytes atomically (PIPE_BUF).
    public static let maxLength = 4096

    public static func framed(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count + 4 <= maxLength else { return nil }
        return withUnsafeBytes(of: UInt32(bytes.count)) { Array($0) } + bytes
    }

    public static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    public static func bytes(_ text: String) -> [UInt8] { text.utf8.filter { $0 != 0 } + [0] }

    public static func number(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return Array(rest.prefix(8)).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }

    public static func text(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}

/// Splits the bytes of a pipe into frames.
public struct BusFrames: Sendable {
    private var bytes: [UInt8] = []

    public init() {}

    public mutating func add(_ more: some Sequence<UInt8>) { bytes += more }

    /// Returns the next complete frame, or nil. An empty frame means that the rest is invalid.
    public mutating func next() -> [UInt8]? {
        guard bytes.count >= 4 else { return nil }
        let length = bytes.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) }
        guard length > 0, length + 4 <= BusFrame.maxLength else {
            bytes = []
            return []
        }
        guard bytes.count >= length + 4 else { return nil }
        defer { bytes.removeFirst(length + 4) }
        return Array(bytes[4..<(length + 4)])
    }
}
