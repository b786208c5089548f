import Base
import Cryptography
import JSON

/// Reads an answer of the phone in pieces of any size: head, encrypted JSON, and an optional encrypted attachment.
/// Bounded; after an error it reads nothing more.
struct ResponseReader {
    /// A part of the answer.
    enum Part {
        /// The authenticated JSON.
        case json([UInt8])
        /// An attachment of this length follows.
        case attachment(UInt64)
        /// The attachment's next decrypted bytes, not authenticated before the end of the answer.
        case content([UInt8])
    }

    /// The maximum length of the JSON, that of `JSONDocument`.
    static let longestBody = JSONDocument.maxLength
    private static let pieceLength = 64 << 10

    private enum Place {
        case head
        case body(length: Int, MessageKeys)
        case mark(BoxKey)
        case attachmentLength(BoxKey)
        case content(left: UInt64, StreamBox)
        case tag(StreamBox)
        case end
        case failed
    }

    private let channelBinding: [UInt8]
    private var place = Place.head
    private var held: [UInt8] = []

    /// - Parameter channelBinding: The "tls-unique" of the connection, 32 bytes.
    init(channelBinding: [UInt8]) { self.channelBinding = channelBinding }

    /// - Parameters:
    ///   - keys: Returns the keys of the answer with a number.
    ///   - take: Receives the parts in order.
    /// - Throws: `.malformed`, `.notAuthentic`; errors of `keys` and `take`.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer, keys: (UInt32) throws -> MessageKeys, take: (Part) throws -> Void
    ) throws {
        var rest = bytes[...]
        do {
            while !rest.isEmpty { try step(&rest, keys: keys, take: take) }
        } catch {
            place = .failed
            held = []
            throw error
        }
    }

    /// - Throws: `.malformed` if the answer is incomplete.
    func finish() throws(RemoteControlError) {
        switch place {
        case .mark, .end: return
        default: throw Self.malformed
        }
    }

    private mutating func step(
        _ rest: inout Slice<UnsafeRawBufferPointer>, keys: (UInt32) throws -> MessageKeys,
        take: (Part) throws -> Void
    ) throws {
        switch place {
        case .head:
            guard var head = gather(8, from: &rest).map(ByteReader.init),
                let number = head.integer(UInt32.self),
                let length = head.integer(UInt32.self)
            else { return }
            guard length >= StreamBox.tagLength, length <= Self.longestBody else {
                throw RemoteControlError(.malformed, "The phone's answer is too long.")
            }
            place = .body(length: Int(length), try keys(number))
        case .body(let length, let keys):
            guard let sealed = gather(length, from: &rest) else { return }
            try take(.json(open(sealed, key: keys.body)))
            place = .mark(keys.attachment)
        case .mark(let key):
            guard rest.removeFirst() == 1 else { throw Self.malformed }
            place = .attachmentLength(key)
        case .attachmentLength(let key):
            guard var field = gather(4, from: &rest).map(ByteReader.init),
                let length = field.integer(UInt32.self)
            else { return }
            guard length >= StreamBox.tagLength else { throw Self.malformed }
            let size = UInt64(length) - UInt64(StreamBox.tagLength)
            place = size > 0 ? .content(left: size, try .opening(key)) : .tag(try .opening(key))
            try take(.attachment(size))
        case .content(let left, var box):
            let count = min(rest.count, Self.pieceLength, Int(clamping: left))
            var piece = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            piece.withUnsafeMutableBytes { box.open($0) }
            place = left > UInt64(count) ? .content(left: left - UInt64(count), box) : .tag(box)
            try take(.content(piece))
        case .tag(let box):
            guard let tag = gather(StreamBox.tagLength, from: &rest) else { return }
            guard box.isAuthentic(tag) else {
                throw RemoteControlError(.notAuthentic, "A file from the phone was changed on its way.")
            }
            place = .end
        case .end, .failed: throw Self.malformed
        }
    }

    /// Returns the next `count` bytes once they have arrived, otherwise nil.
    private mutating func gather(_ count: Int, from rest: inout Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
        let part = min(count - held.count, rest.count)
        held += rest.prefix(part)
        rest = rest.dropFirst(part)
        guard held.count == count else { return nil }
        defer { held = [] }
        return held
    }

    private func open(_ sealed: [UInt8], key: BoxKey) throws(RemoteControlError) -> [UInt8] {
        var box = try StreamBox.opening(key)
        var plain = Array(sealed.dropLast(StreamBox.tagLength))
        plain.withUnsafeMutableBytes { box.open($0) }
        var reader = ByteReader(plain)
        guard box.isAuthentic(Array(sealed.suffix(StreamBox.tagLength))),
            reader.byteString() == channelBinding
        else {
            throw RemoteControlError(.notAuthentic, "The phone's answer is not of this session.")
        }
        return reader.rest()
    }

    private static let malformed = RemoteControlError(
        .malformed, "The phone's answer violates the protocol.")
}
