/// A parsed JSON text: its bytes and a flat list of nodes. Strings and numbers are decoded on access, so a page of
/// history costs only its used parts.
///
/// Any bytes give a document or nil, within the limits below. The first of several equal keys counts.
public final class JSONDocument: Sendable {
    /// The longest text in bytes, that of a WebSocket message.
    public static let maxLength = 64 << 20
    /// The maximum nesting of arrays and objects. The chat API uses about 12 levels.
    public static let deepest = 64
    /// The maximum number of values and keys, each of 16 bytes of memory.
    public static let maxNodes = 4_000_000

    enum Kind: UInt8 {
        case null, `false`, `true`, number, string, escapedString, array, object
    }

    struct Node {
        var kind: Kind
        /// The bytes of a number, or of a string without its quotes.
        var start: Int32
        var end: Int32
        /// The index of the node after this one and its content.
        var next: Int32
    }

    let bytes: [UInt8]
    let nodes: [Node]

    /// Returns nil unless the bytes are exactly one JSON value with optional white space around it.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maxLength else { return nil }
        let nodes = bytes.withUnsafeBufferPointer { buffer -> [Node]? in
            var reader = JSONReader(bytes: buffer)
            return reader.document()
        }
        guard let nodes else { return nil }
        self.bytes = bytes
        self.nodes = nodes
    }
}

/// Builds the list of nodes. Checks every read against the end.
private struct JSONReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    var nodes: [JSONDocument.Node] = []

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func document() -> [JSONDocument.Node]? {
        nodes.reserveCapacity(bytes.count / 12)
        guard value(depth: 0) else { return nil }
        skipSpace()
        return position == bytes.count ? nodes : nil
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func append(_ kind: JSONDocument.Kind, _ start: Int, _ end: Int) -> Int? {
        let index = nodes.count
        guard index < JSONDocument.maxNodes else { return nil }
        nodes.append(
            JSONDocument.Node(
                kind: kind, start: Int32(truncatingIfNeeded: start), end: Int32(truncatingIfNeeded: end),
                next: Int32(truncatingIfNeeded: index + 1)))
        return index
    }

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        guard let first = current else { return false }
        switch first {
        case UInt8(ascii: "{"): return container(.object, end: UInt8(ascii: "}"), depth: depth)
        case UInt8(ascii: "["): return container(.array, end: UInt8(ascii: "]"), depth: depth)
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return word("true", .true)
        case UInt8(ascii: "f"): return word("false", .false)
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func container(_ kind: JSONDocument.Kind, end: UInt8, depth: Int) -> Bool {
        guard depth < JSONDocument.deepest, let index = append(kind, position, position) else { return false }
        position += 1
        skipSpace()
        if !take(end) {
            while true {
                if kind == .object {
                    skipSpace()
                    guard current == UInt8(ascii: "\""), string() else { return false }
                    skipSpace()
                    guard take(UInt8(ascii: ":")) else { return false }
                }
                guard value(depth: depth + 1) else { return false }
                skipSpace()
                if take(end) { break }
                guard take(UInt8(ascii: ",")) else { return false }
            }
        }
        nodes[index].end = Int32(truncatingIfNeeded: position)
        nodes[index].next = Int32(truncatingIfNeeded: nodes.count)
        return true
    }

    private mutating func word(_ word: StaticString, _ kind: JSONDocument.Kind) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for offset in 0..<word.utf8CodeUnitCount where bytes[position + offset] != word.utf8Start[offset] {
            return false
        }
        guard append(kind, position, end) != nil else { return false }
        position = end
        return true
    }

    /// Skips digits, signs, dot and exponent. Conversion to a number happens on access.
    private mutating func number() -> Bool {
        let start = position
        while let byte = current, Self.isOfNumber(byte) { position += 1 }
        guard position > start, bytes[start] == UInt8(ascii: "-") || Self.isDigit(bytes[start]) else {
            return false
        }
        return append(.number, start, position) != nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func string() -> Bool {
        position += 1
        let start = position
        var kind = JSONDocument.Kind.string
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                guard append(kind, start, position) != nil else { return false }
                position += 1
                return true
            case UInt8(ascii: "\\"):
                kind = .escapedString
                // Escapes are decoded on access. An escaped quote does not end the string.
                position += 2
            case 0..<0x20:
                return false
            default:
                position += 1
            }
        }
        return false
    }
}
