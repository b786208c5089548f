import Base

/// Reads DER elements: tag, definite length, content. Returns nil for malformed bytes.
struct DERReader {
    struct Element {
        let tag: UInt8
        /// Tag, length and content.
        let whole: [UInt8]
        let content: [UInt8]
    }

    static let sequence: UInt8 = 0x30
    static let bitString: UInt8 = 0x03

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func next() -> Element? {
        let start = position
        guard bytes.count - position >= 2 else { return nil }
        let tag = bytes[position]
        var length = Int(bytes[position + 1])
        var header = 2
        if length >= 0x80 {
            let count = length & 0x7f
            guard (1...3).contains(count), bytes.count - position >= 2 + count else { return nil }
            length = bytes[position + 2..<position + 2 + count].reduce(0) { $0 << 8 | Int($1) }
            header += count
        }
        guard bytes.count - position - header >= length else { return nil }
        position += header + length
        return Element(
            tag: tag, whole: Array(bytes[start..<position]),
            content: Array(bytes[start + header..<position]))
    }

    /// Returns the next element if it has this tag. Otherwise stays at its position.
    mutating func next(_ tag: UInt8) -> Element? {
        let before = position
        guard let element = next(), element.tag == tag else {
            position = before
            return nil
        }
        return element
    }

    /// Returns a reader of the content if `bytes` are exactly one sequence.
    static func sequence(_ bytes: [UInt8]) -> DERReader? {
        var reader = DERReader(bytes)
        guard let element = reader.next(sequence), reader.isAtEnd else { return nil }
        return DERReader(element.content)
    }

    /// Encodes an element of at most 65,535 bytes.
    static func encode(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var bytes = [tag]
        switch content.count {
        case 0..<0x80: bytes.append(UInt8(content.count))
        case 0x80..<0x100: bytes += [0x81, UInt8(content.count)]
        default:
            bytes.append(0x82)
            bytes.append(bigEndian: UInt16(content.count))
        }
        return bytes + content
    }
}
