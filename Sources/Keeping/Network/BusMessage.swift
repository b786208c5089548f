import Base

/// A message of D-Bus (D-Bus Specification, "Message Protocol"), as far as it takes to ask one service for one
/// property and to hear that it changed.
public struct BusMessage: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case call = 1
        case reply = 2
        case error = 3
        case signal = 4
    }

    /// Bytes of the longest message that is read; what is asked for here takes some hundred.
    public static let maxLength = 1 << 20

    public var kind: Kind
    /// Of a reply or an error: the number of the call.
    public var replySerial: UInt32?
    public var member: String?
    /// The number in the body, where that is one of type `u`, by itself or as a variant.
    public var number: UInt32?

    // MARK: - Writing

    /// A call with strings as arguments. Starts no service that does not run.
    /// - Parameter serial: of this connection, not 0.
    public static func call(
        _ member: String, of interface: String, at path: String, destination: String, serial: UInt32,
        _ arguments: [String] = []
    ) -> [UInt8] {
        var body = BusWriter()
        for argument in arguments { body.string(argument) }
        var fields = BusWriter()
        for (code, type, text) in [
            (1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination),
        ] as [(UInt8, String, String)] {
            fields.align(8)
            fields.bytes.append(code)
            fields.signature(type)
            fields.string(text)
        }
        if !arguments.isEmpty {
            fields.align(8)
            fields.bytes.append(8)
            fields.signature("g")
            fields.signature(String(repeating: "s", count: arguments.count))
        }
        var message = BusWriter()
        // Little-endian, NO_AUTO_START, version 1.
        message.bytes = [UInt8(ascii: "l"), Kind.call.rawValue, 2, 1]
        message.number(UInt32(body.bytes.count))
        message.number(serial)
        message.number(UInt32(fields.bytes.count))
        message.bytes += fields.bytes
        message.align(8)
        return message.bytes + body.bytes
    }

    // MARK: - Reading

    /// How long the message is that begins with these 16 bytes.
    /// - Throws: `bus` when it is none, or too long.
    public static func length(of head: [UInt8]) throws(KeepingError) -> Int {
        guard head.count >= 16 else { throw malformed }
        var reader = try BusReader(head)
        reader.position = 4
        let body = Int(try reader.number())
        reader.position = 12
        let fields = Int(try reader.number())
        guard body <= maxLength, fields <= maxLength else { throw malformed }
        let length = (16 + fields + 7) / 8 * 8 + body
        guard length <= maxLength else { throw malformed }
        return length
    }

    /// - Throws: `bus`.
    public init(_ bytes: [UInt8]) throws(KeepingError) {
        guard try Self.length(of: bytes) == bytes.count, let kind = Kind(rawValue: bytes[1]) else {
            throw Self.malformed
        }
        self.kind = kind
        var reader = try BusReader(bytes)
        reader.position = 12
        let end = 16 + Int(try reader.number())
        var signature = ""
        while reader.position < end {
            try reader.align(8)
            guard reader.position < end else { throw Self.malformed }
            let code = try reader.byte()
            switch try reader.signature() {
            case "s", "o":
                let text = try reader.string()
                if code == 3 { member = text }
            case "g":
                let text = try reader.signature()
                if code == 8 { signature = text }
            case "u":
                let value = try reader.number()
                if code == 5 { replySerial = value }
            default: throw Self.malformed
            }
        }
        guard reader.position == end else { throw Self.malformed }
        try reader.align(8)
        if signature == "v", try reader.signature() == "u" {
            number = try reader.number()
        } else if signature == "u" {
            number = try reader.number()
        }
    }

    fileprivate static let malformed = KeepingError(.bus, "The system bus says what is no message.")
}

/// Values of D-Bus, little-endian, each aligned to its size.
private struct BusWriter {
    var bytes: [UInt8] = []

    mutating func align(_ size: Int) {
        while bytes.count % size != 0 { bytes.append(0) }
    }

    mutating func number(_ value: UInt32) {
        align(4)
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }

    mutating func string(_ text: String) {
        number(UInt32(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    mutating func signature(_ text: String) {
        bytes.append(UInt8(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }
}

/// The same of others, in the order of their bytes.
private struct BusReader {
    private let bytes: [UInt8]
    private let isLittle: Bool
    var position = 0

    init(_ bytes: [UInt8]) throws(KeepingError) {
        switch bytes.first {
        case UInt8(ascii: "l"): isLittle = true
        case UInt8(ascii: "B"): isLittle = false
        default: throw BusMessage.malformed
        }
        self.bytes = bytes
    }

    mutating func take(_ count: Int) throws(KeepingError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw BusMessage.malformed }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func align(_ size: Int) throws(KeepingError) {
        _ = try take((size - position % size) % size)
    }

    mutating func byte() throws(KeepingError) -> UInt8 { try take(1)[position - 1] }

    mutating func number() throws(KeepingError) -> UInt32 {
        try align(4)
        let four = try take(4)
        return (isLittle ? Array(four.reversed()) : Array(four)).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func string() throws(KeepingError) -> String {
        let length = try number()
        guard length <= BusMessage.maxLength else { throw BusMessage.malformed }
        return try text(Int(length))
    }

    mutating func signature() throws(KeepingError) -> String {
        let length = try byte()
        return try text(Int(length))
    }

    private mutating func text(_ length: Int) throws(KeepingError) -> String {
        let text = String(decoding: try take(length), as: UTF8.self)
        guard try byte() == 0 else { throw BusMessage.malformed }
        return text
    }
}
