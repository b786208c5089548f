import Base
import Cryptography
import Network

/// Counts the bytes of a chunk on the wire. A failed attempt subtracts its bytes with a negative number. Called often
/// on connection threads, so it must be fast.
public typealias ByteCounter = @Sendable (Int) -> Void

/// The body of a chunk upload.
final class ChunkBody: BodySource, @unchecked Sendable {
    // Safe: only the connection's thread accesses `position` until `send` returns, then only the task.
    private let buffer: ChunkBuffer
    private let counter: ByteCounter
    private let wasRead: @Sendable () -> Void
    private var position = 0
    let length: Int

    /// - Parameter wasRead: Called after the last byte was read. `buffer` is not accessed afterwards.
    init(
        _ buffer: ChunkBuffer, counter: @escaping ByteCounter, wasRead: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = buffer
        self.counter = counter
        self.wasRead = wasRead
        length = buffer.count
    }

    func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = min(target.count, length - offset)
        guard count > 0 else { return 0 }
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer.bytes[offset..<offset + count]))
        position = offset + count
        counter(count)
        if position == length { wasRead() }
        return count
    }

    /// Subtracts the counted bytes after a failed attempt.
    func takeBack() {
        if position > 0 { counter(-position) }
    }
}

/// The response to FGET: a block, the chunk encrypted for transport, and its tag. Decrypts and hashes the chunk while
/// it arrives.
final class ChunkSink: BodySink, @unchecked Sendable {
    // Safe: only the connection's thread accesses the state until `send` returns, then only the task.
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
        guard box != nil else { throw XFTPError.brokenProtocol("sent unexpected bytes after its response") }
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

    /// Returns whether the chunk arrived complete and authentic, with this SHA-256.
    func isComplete(digest expected: [UInt8]) -> Bool {
        guard let box, buffer.count == size, box.isAuthentic(tag) else { return false }
        return digest.finalize() == expected
    }

    func takeBack() {
        if buffer.count > 0 { counter(-buffer.count) }
    }
}
