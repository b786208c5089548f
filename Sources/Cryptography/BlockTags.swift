import Base
import CSodium

/// Authentication tags of the blocks of one file, 16 bytes for each 64 KiB. The process computes them from bytes in its
/// own memory and never stores them. A block changed on disk later fails its next read.
///
/// The first block may be shorter. If it ends where the content begins, reads of whole blocks of content read no others.
///
/// Each tag is a Poly1305 under a one-time key, which HSalsa20 derives from a random key of the process. Reusing the
/// key as the last block grows reveals nothing, because tags never leave this memory. Thread-safe.
public final class BlockTags: Sendable {
    public static let blockSize = 65_536

    /// The tag of a block and the length that it covers.
    struct Proof {
        let length: Int
        fileprivate let tag: SIMD16<UInt8>
        fileprivate let key: SIMD32<UInt8>

        /// Returns whether the bytes are the block that was tagged.
        func holds(_ bytes: UnsafeRawBufferPointer) -> Bool {
            bytes.count == length && withUnsafeBytes(of: key) { Poly1305.tag(of: bytes, key: $0) } == tag
        }
    }

    private struct State {
        var full: [SIMD16<UInt8>] = []
        /// The tag of the last block, if it is not full.
        var last: (tag: SIMD16<UInt8>, length: Int)?
    }

    private static let key = SecretBytes(randomCount: 32)
    private static let lastNumber = Lock<UInt64>(0)
    /// Distinguishes the files of this process.
    private let number: UInt64
    /// The length of the first block in bytes.
    private let first: Int
    private let state = Lock(State())

    fileprivate init(first: Int) {
        precondition(1...Self.blockSize ~= first, "a block has 1 to 65,536 bytes")
        self.first = first
        number = Self.lastNumber.withLock { last in
            last += 1
            return last
        }
    }

    /// The number of covered bytes, from the start of the file.
    public var size: UInt64 {
        state.withLock { start(of: $0.full.count) + UInt64($0.last?.length ?? 0) }
    }

    /// The length of a block that is full.
    fileprivate func length(of block: Int) -> Int { block == 0 ? first : Self.blockSize }

    /// The position of a block in the file.
    func start(of block: Int) -> UInt64 {
        block == 0 ? 0 : UInt64(first) + UInt64(block - 1) * UInt64(Self.blockSize)
    }

    /// The block that holds a position of the file.
    func block(at position: UInt64) -> Int {
        position < UInt64(first) ? 0 : 1 + Int((position - UInt64(first)) / UInt64(Self.blockSize))
    }

    /// The memory that the tags use, in bytes.
    public var memory: Int { state.withLock { ($0.full.count + 1) * 16 } }

    /// Returns nil for a block that is not covered.
    func proof(of block: Int) -> Proof? {
        let known = state.withLock { state -> (tag: SIMD16<UInt8>, length: Int)? in
            if block < state.full.count { return (state.full[block], length(of: block)) }
            return block == state.full.count ? state.last : nil
        }
        return known.map { Proof(length: $0.length, tag: $0.tag, key: key(of: block)) }
    }

    fileprivate func key(of block: Int) -> SIMD32<UInt8> {
        let input = SIMD2<UInt64>(number, UInt64(block))
        var key = SIMD32<UInt8>()
        withUnsafeMutableBytes(of: &key) { key in
            withUnsafeBytes(of: input) { input in
                Self.key.withUnsafeBytes { secret in
                    _ = crypto_core_hsalsa20(
                        key.assumingMemoryBound(to: UInt8.self).baseAddress!,
                        input.assumingMemoryBound(to: UInt8.self).baseAddress!,
                        secret.assumingMemoryBound(to: UInt8.self).baseAddress!, nil)
                }
            }
        }
        return key
    }

    /// Covers further whole blocks, and then a part of the next one or nothing of it.
    fileprivate func append(_ full: [SIMD16<UInt8>], last: (tag: SIMD16<UInt8>, length: Int)?) {
        state.withLock { state in
            state.full += full
            state.last = last
        }
    }
}

/// Computes the tags of a file's blocks from its bytes, front to back. Used by one thread at a time.
public struct BlockTagging: Sendable {
    public let tags: BlockTags
    private var block = 0
    /// The authenticator of the block that is not full.
    private var begun: Poly1305?
    private var length = 0
    /// Tags of whole blocks since the last `publish`.
    private var full: [SIMD16<UInt8>] = []

    /// - Parameter first: The length of the first block in bytes, 1 to 65,536.
    public init(first: Int = BlockTags.blockSize) { tags = BlockTags(first: first) }

    /// - Parameter arguments: The arguments of the file: a block begins with its content.
    init(_ arguments: FileArguments) {
        let start = Int(clamping: arguments.content?.lowerBound ?? 0)
        self.init(first: 1...BlockTags.blockSize ~= start ? start : BlockTags.blockSize)
    }

    /// Adds the next bytes of the file. They are covered after `publish`.
    public mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let count = min(tags.length(of: block) - length, rest.count)
            if begun == nil { begun = withUnsafeBytes(of: tags.key(of: block)) { Poly1305(key: $0) } }
            begun?.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            length += count
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            if length == tags.length(of: block), let tag = begun?.tag {
                full.append(tag)
                (begun, length) = (nil, 0)
                block += 1
            }
        }
    }

    /// Covers all bytes that were added. The file must hold them: a reader expects a covered block there.
    public mutating func publish() {
        tags.append(full, last: begun.map { ($0.tag, length) })
        full.removeAll(keepingCapacity: true)
    }
}
