import Base
import Cryptography
import Glibc
import Posix
import XFTP

@testable import Hydration

/// A described file on a simulated relay that can be silent, fail, send wrong bytes, and count.
final class MemorySource: ChunkSource {
    struct Behaviour {
        /// Errors of a chunk's next fetches.
        var failures: [Int: [any Error]] = [:]
        var failsAlways: (any Error)?
        var gate: Gate?
        /// Gates of single chunks.
        var gates: [Int: Gate] = [:]
        /// True to send a part of each chunk before the gate.
        var showsLife = false
        var fetches: [Int] = []
        var inFlight = 0
        var maxInFlight = 0
        /// Chunks that the disk cannot read.
        var unreadable: Set<Int> = []
        /// Chunks of an earlier mount that were read from the kernel's memory, not from the disk.
        var readFromMemory: [Int] = []
    }

    let chunks: [ChunkPlace]
    let contentSize: UInt64
    let header: [UInt8]
    let seed: UInt64
    let behaviour = Lock(Behaviour())
    let arguments = CryptoFile.freshArguments()
    private let cipher: StreamBox
    private let tag: [UInt8]

    init(
        size: UInt64, chunkSize: UInt32 = 65_536, relay: String = "relay", seed: UInt64 = 1,
        name: String = "file", headerSize: UInt64? = nil, hasWrongTag: Bool = false
    ) {
        contentSize = size
        self.seed = seed
        header = FileHeader.encode(name: name, contentSize: headerSize ?? size)
        let stream = UInt64(header.count) + size + 16
        let count = Int((stream + UInt64(chunkSize) - 1) / UInt64(chunkSize))
        chunks = Array(repeating: ChunkPlace(size: chunkSize, relay: relay), count: count)
        let end = UInt64(count) * UInt64(chunkSize) - 16
        var sealed = Self.seal(header, size: size, seed: seed, end: end, arguments)
        if hasWrongTag { sealed.tag[15] ^= 1 }
        (cipher, tag) = sealed
    }

    private static func seal(
        _ header: [UInt8], size: UInt64, seed: UInt64, end: UInt64, _ arguments: FileArguments
    ) -> (cipher: StreamBox, tag: [UInt8]) {
        guard let cipher = try? StreamBox(key: arguments.key, nonce: arguments.nonce) else {
            preconditionFailure("fresh arguments are valid")
        }
        var box = cipher
        var plain = header + Pattern.bytes(0..<size, seed: seed)
        plain += [UInt8](repeating: UInt8(ascii: "#"), count: Int(end) - plain.count)
        plain.withUnsafeMutableBytes { box.seal($0) }
        return (cipher, box.tag())
    }

    /// Encrypts as on the relay.
    fileprivate func seal(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64) {
        let end = streamSize - 16
        let sealed = position >= end ? 0 : Int(min(UInt64(bytes.count), end - position))
        cipher.transform(UnsafeMutableRawBufferPointer(rebasing: bytes[..<sealed]), at: position)
    }

    var fetches: [Int] { behaviour.withLock { $0.fetches } }
    var streamSize: UInt64 { chunks.reduce(0) { $0 + UInt64($1.size) } }

    /// The stream: header, content, padding, tag.
    func stream(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) {
        let content = UInt64(header.count)..<UInt64(header.count) + contentSize
        memset(buffer.baseAddress!, Int32(UInt8(ascii: "#")), buffer.count)
        for position in range.clamped(to: 0..<content.lowerBound) {
            buffer[Int(position - range.lowerBound)] = header[Int(position)]
        }
        for position in range.clamped(to: streamSize - 16..<streamSize) {
            buffer[Int(position - range.lowerBound)] = tag[Int(position - (streamSize - 16))]
        }
        let part = content.clamped(to: range)
        guard !part.isEmpty else { return }
        let start = Int(part.lowerBound - range.lowerBound)
        Pattern.fill(
            UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + part.count]),
            at: part.lowerBound - content.lowerBound, seed: seed)
    }

    func fetch(
        _ chunk: Int, progress: @escaping @Sendable (UInt64) -> Void
    ) async throws -> any FetchedChunk {
        let (gate, failure, showsLife) = behaviour.withLock { behaviour in
            behaviour.fetches.append(chunk)
            behaviour.inFlight += 1
            behaviour.maxInFlight = max(behaviour.maxInFlight, behaviour.inFlight)
            let failure = behaviour.failures[chunk]?.first ?? behaviour.failsAlways
            if behaviour.failures[chunk]?.isEmpty == false { behaviour.failures[chunk]?.removeFirst() }
            return (behaviour.gates[chunk] ?? behaviour.gate, failure, behaviour.showsLife)
        }
        defer { behaviour.withLock { $0.inFlight -= 1 } }
        if showsLife { progress(1) }
        if let gate { try await gate.pass() }
        if let failure { throw failure }
        let offset = chunks[..<chunk].reduce(0 as UInt64) { $0 + UInt64($1.size) }
        let size = Int(chunks[chunk].size)
        return await ThreadPool.shared.run { MemoryChunk(self, offset: offset, count: size) }
    }

    func read(_ chunk: Int, from file: OpenFile) throws(SystemError) -> (any FetchedChunk)? {
        let offset = chunks[..<chunk].reduce(0 as UInt64) { $0 + UInt64($1.size) }
        let whole = MemoryChunk(self, offset: offset, count: Int(chunks[chunk].size))
        let isUnreadable = behaviour.withLock { $0.unreadable.contains(chunk) }
        if isUnreadable { throw SystemError(code: EIO, operation: "read") }
        if file.isInMemory(at: offset) { behaviour.withLock { $0.readFromMemory.append(chunk) } }
        return try file.read(count: whole.bytes.count, at: offset).elementsEqual(whole.bytes) ? whole : nil
    }
}

/// A chunk of a memory source.
private final class MemoryChunk: FetchedChunk, @unchecked Sendable {
    // Safe: never changed.
    let bytes: UnsafeRawBufferPointer

    init(_ source: MemorySource, offset: UInt64, count: Int) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        source.stream(offset..<offset + UInt64(count), into: buffer)
        source.seal(buffer, at: offset)
        bytes = UnsafeRawBufferPointer(buffer)
    }

    deinit { bytes.deallocate() }
}

extension OpenFile {
    /// Whether the page at `offset` is in the kernel's memory.
    func isInMemory(at offset: UInt64) -> Bool {
        guard let page = mmap(nil, 4096, PROT_READ, MAP_SHARED, descriptor, off_t(offset)), page != MAP_FAILED
        else { return false }
        defer { munmap(page, 4096) }
        var state: UInt8 = 0
        return mincore(page, 4096, &state) == 0 && state & 1 == 1
    }
}
