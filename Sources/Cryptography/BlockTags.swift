import Base
import CSodium

/// Authentication tags of the blocks of one file, 16 bytes for each 64 KiB. The process computes them from bytes in its
/// own memory. A block changed on disk later fails its next read.
///
/// A file has one section or, while it is received, one per chunk. Sections are covered in any order. The first block of
/// a section may be shorter. If it is as long as the bytes before the content, reads of whole blocks of content read no
/// others.
///
/// Each tag is a Poly1305 under a one-time key, which HSalsa20 derives from a random key. Covering a section again
/// reveals nothing, because tags leave this memory only encrypted (`sealed`). Thread-safe.
public final class BlockTags: Sendable {
    public static let blockSize = 65_536

    /// The tag of a block and its place in the file.
    struct Proof {
        let start: UInt64
        let length: Int
        fileprivate let tag: SIMD16<UInt8>
        fileprivate let key: SIMD32<UInt8>

        /// Returns whether the bytes are the block that was tagged.
        func holds(_ bytes: UnsafeRawBufferPointer) -> Bool {
            bytes.count == length && withUnsafeBytes(of: key) { Poly1305.tag(of: bytes, key: $0) } == tag
        }
    }

    private struct Section {
        var tags: [SIMD16<UInt8>]
        /// In bytes.
        var length: UInt64
    }

    private static let keyLength = 32
    /// Of these tags alone.
    private let key: WipedBytes
    /// The length of the first block of a section in bytes.
    fileprivate let first: Int
    /// Where the sections begin.
    let starts: [UInt64]
    private let sections: Lock<[Section?]>

    /// - Parameters:
    ///   - sections: Where the sections begin, in ascending order from 0.
    ///   - contentOffset: The number of bytes before the content.
    public init(sections: [UInt64] = [0], contentOffset: UInt64 = 0) {
        starts = sections
        first = 1...UInt64(Self.blockSize) ~= contentOffset ? Int(contentOffset) : Self.blockSize
        self.sections = Lock(Array(repeating: nil, count: sections.count))
        key = WipedBytes(SystemRandomSource().bytes(Self.keyLength))
    }

    /// The memory that the tags use, in bytes.
    public var memory: Int { sections.withLock { $0.reduce(16) { $0 + ($1?.tags.count ?? 0) * 16 } } }

    /// Covers a section. The file must hold it: a reader expects it there.
    public func cover(_ section: Int, with bytes: UnsafeRawBufferPointer) {
        var tagging = BlockTagging(self, section: section)
        tagging.add(bytes)
        tagging.finish()
    }

    fileprivate func cover(_ section: Int, _ tags: [SIMD16<UInt8>], length: UInt64) {
        sections.withLock { $0[section] = Section(tags: tags, length: length) }
    }

    /// The proof of the block at a position of the file. Returns nil if it is not covered.
    func proof(at position: UInt64) -> Proof? {
        let section = section(at: position)
        let inner = position - starts[section]
        let block = inner < UInt64(first) ? 0 : 1 + Int((inner - UInt64(first)) / UInt64(Self.blockSize))
        let start = block == 0 ? 0 : UInt64(first) + UInt64(block - 1) * UInt64(Self.blockSize)
        let found = sections.withLock { sections -> (tag: SIMD16<UInt8>, end: UInt64)? in
            guard let found = sections[section], block < found.tags.count else { return nil }
            return (found.tags[block], found.length)
        }
        guard let (tag, end) = found, inner < end else { return nil }
        return Proof(
            start: starts[section] + start, length: Int(min(UInt64(length(of: block)), end - start)),
            tag: tag,
            key: key(of: section, block))
    }

    private func section(at position: UInt64) -> Int {
        var (low, high) = (0, starts.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= position { low = middle } else { high = middle - 1 }
        }
        return low
    }

    // MARK: - Encoding

    /// The plaintext of `sealed`; nil if a section is not covered.
    func encoded() -> [UInt8]? {
        let covered = sections.withLock { $0 }.compactMap(\.self)
        guard covered.count == starts.count else { return nil }
        var bytes = key.withUnsafeBytes { Array($0) }
        bytes.append(bigEndian: UInt32(first))
        bytes.append(bigEndian: UInt32(starts.count))
        for (start, section) in zip(starts, covered) {
            bytes.append(bigEndian: start)
            bytes.append(bigEndian: section.length)
            for tag in section.tags { withUnsafeBytes(of: tag) { bytes += $0 } }
        }
        return bytes
    }

    /// - Parameter size: The number of bytes that the tags must cover without gaps.
    init?(encoded bytes: [UInt8], size: UInt64) {
        var reader = ByteReader(bytes)
        guard let key = reader.bytes(Self.keyLength), let first = reader.integer(UInt32.self),
            1...Self.blockSize ~= Int(first), let count = reader.integer(UInt32.self)
        else { return nil }
        var (starts, sections, end): ([UInt64], [Section?], UInt64) = ([], [], 0)
        for _ in 0..<count {
            guard let start = reader.integer(UInt64.self), start == end,
                let length = reader.integer(UInt64.self), length <= size - start
            else { return nil }
            let rest = length - min(length, UInt64(first))
            let blocks =
                (length > 0 ? 1 : 0) + Int((rest + UInt64(Self.blockSize) - 1) / UInt64(Self.blockSize))
            guard let tags = reader.slice(blocks * 16) else { return nil }
            sections.append(
                Section(
                    tags: stride(from: tags.startIndex, to: tags.endIndex, by: 16).map {
                        SIMD16(tags[$0..<$0 + 16])
                    }, length: length))
            starts.append(start)
            end += length
        }
        guard end == size, reader.remaining == 0, !starts.isEmpty else { return nil }
        (self.key, self.first, self.starts, self.sections) = (
            WipedBytes(key), Int(first), starts, Lock(sections)
        )
    }

    /// The length of a block that is full.
    fileprivate func length(of block: Int) -> Int { block == 0 ? first : Self.blockSize }

    fileprivate func key(of section: Int, _ block: Int) -> SIMD32<UInt8> {
        let input = SIMD2<UInt64>(UInt64(section), UInt64(block))
        var key = SIMD32<UInt8>()
        withUnsafeMutableBytes(of: &key) { key in
            withUnsafeBytes(of: input) { input in
                self.key.withUnsafeBytes { secret in
                    _ = crypto_core_hsalsa20(
                        key.assumingMemoryBound(to: UInt8.self).baseAddress!,
                        input.assumingMemoryBound(to: UInt8.self).baseAddress!,
                        secret.assumingMemoryBound(to: UInt8.self).baseAddress!, nil)
                }
            }
        }
        return key
    }
}

/// Computes the tags of a section from its bytes, front to back. Used by one thread at a time.
public struct BlockTagging: Sendable {
    private let tags: BlockTags
    private let section: Int
    private var full: [SIMD16<UInt8>] = []
    /// The authenticator of a block of which a part was added, and the length of that part.
    private var begun: Poly1305?
    private var length = 0
    private var total: UInt64 = 0

    public init(_ tags: BlockTags, section: Int = 0) {
        self.tags = tags
        self.section = section
    }

    /// Adds the next bytes of the section.
    public mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let blockLength = tags.length(of: full.count)
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(blockLength - length))
            let key = tags.key(of: section, full.count)
            if part.count == blockLength {
                full.append(withUnsafeBytes(of: key) { Poly1305.tag(of: part, key: $0) })
            } else {
                if begun == nil { begun = withUnsafeBytes(of: key) { Poly1305(key: $0) } }
                begun?.update(part)
                length += part.count
                if length == blockLength { endBlock() }
            }
            total += UInt64(part.count)
            rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
        }
    }

    private mutating func endBlock() {
        if let begun { full.append(begun.tag) }
        (begun, length) = (nil, 0)
    }

    /// Covers the section with all bytes that were added. The file must hold them.
    public mutating func finish() {
        endBlock()
        tags.cover(section, full, length: total)
    }
}
