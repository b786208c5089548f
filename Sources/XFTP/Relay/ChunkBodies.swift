import Base
import Cryptography
import Network

/// Told how many bytes of a chunk went over the wire; a failed attempt takes its bytes back with a
/// negative number. Called on connection threads, often: it must be quick.
public typealias ByteCounter = @Sendable (Int) -> Void

/// A chunk on its way to a relay.
final class ChunkBody: BodySource, @unchecked Sendable {
    // Safe: the connection's thread alone touches `position` until `send` returns, the task after.
    private let buffer: ChunkBuffer
    private let counter: ByteCounter
    private let wasRead: @Sendable () -> Void
    private var position = 0
    let length: Int

    /// - Parameter wasRead: called when the last byte was read; `buffer` is not touched from then on.
    init(
        _ buffer: ChunkBuffer, counter: @escaping ByteCounter, wasRead: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = buffer
        self.counter = counter
        self.wasRead = wasRead
        length = buffer.count
    }

    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, length - position)
        guard count > 0 else { return 0 }
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer.bytes[position..<position + count]))
        position += count
        counter(count)
        if position == length { wasRead() }
        return count
    }

    /// Takes the counted bytes back, after a failed attempt.
    func takeBack() {
        if position > 0 { counter(-position) }
    }
}

/// The answer to FGET: a block, then the chunk under the transport key, then its tag. The chunk is
/// decrypted and digested piece by piece while it arrives.
final class ChunkSink: BodySink, @unchecked Sendable {
    // Safe: the connection's thread alone touches the state until `send` returns, the task after.
    private let buffer: ChunkBuffer
    private let size: Int
    private let key: AgreementKey
    private let sessionID: [UInt8]
    private let counter: ByteCounter
    private var block: [UInt8] = []
    private var box: StreamBox?
    private var digest = SHA256()
    private var tag: [UInt8] = []
    private(set) var response: XFTPResponse?

    init(
        into buffer: ChunkBuffer, size: Int, key: AgreementKey, sessionID: [UInt8],
        counter: @escaping ByteCounter
    ) {
        self.buffer = buffer
        self.size = size
        self.key = key
        self.sessionID = sessionID
        self.counter = counter
        buffer.count = 0
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        if block.count < Block.size {
            let count = min(rest.count, Block.size - block.count)
            block.append(contentsOf: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            if block.count == Block.size { try begin() }
        }
        guard !rest.isEmpty else { return }
        guard box != nil else { throw XFTPError.brokenProtocol("sent bytes after an answer that has none") }
        let content = min(rest.count, size - buffer.count)
        if content > 0 {
            let start = buffer.count
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer.storage[start..<start + content])
            box?.open(UnsafeRawBufferPointer(rebasing: rest[..<content]), into: target)
            buffer.count += content
            digest.update(UnsafeRawBufferPointer(target))
            counter(content)
        }
        tag.append(contentsOf: rest[content...])
        guard tag.count <= StreamBox.tagLength else {
            throw XFTPError.brokenProtocol("sent a chunk that is too long")
        }
    }

    private func begin() throws {
        let response = try XFTPResponse(block: block, sessionID: sessionID)
        self.response = response
        guard case .file(let relayKey, let nonce) = response else { return }
        guard let secret = try? key.sharedSecret(with: relayKey) else {
            throw XFTPError.brokenProtocol("sent an invalid key")
        }
        box = try StreamBox(key: secret, nonce: nonce)
    }

    /// Whether the chunk is there whole and untouched on its way, and has this SHA-256.
    func isComplete(digest expected: [UInt8]) -> Bool {
        guard let box, buffer.count == size, box.isAuthentic(tag) else { return false }
        return digest.finalize() == expected
    }

    func takeBack() {
        if buffer.count > 0 { counter(-buffer.count) }
    }
}
