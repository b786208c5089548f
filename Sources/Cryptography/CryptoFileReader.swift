import Base
import Posix

/// Reads a CryptoFile at any position after one check of its tag.
///
/// The tag covers the whole file, so `read` fails until `verify` has succeeded. Verifying also computes a tag for each
/// block, and later reads check those. A CryptoFile is never changed in place. All positions and sizes are those of the
/// content (`FileArguments.content`). Thread-safe.
public final class CryptoFileReader: Sendable {
    private enum Trust: Sendable {
        case none
        /// Verified; reads check the block tags.
        case proven(BlockTags)
        /// Trusted by the caller; reads check nothing.
        case taken
    }

    /// The length of the content in bytes.
    public var size: UInt64 { content.upperBound - content.lowerBound }
    private let file: OpenFile
    private let box: StreamBox
    public let arguments: FileArguments
    /// Where the content lies in the plaintext.
    private let content: Range<UInt64>
    /// The length of the plaintext in bytes.
    private let end: UInt64
    private let trust: Lock<Trust>

    private init(_ file: OpenFile, _ arguments: FileArguments, _ trust: Trust) throws(CryptographyError) {
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        let sizeOnDisk = try wrappingSystemError { () throws(SystemError) in try file.size() }
        guard sizeOnDisk >= UInt64(StreamBox.tagLength) else {
            throw CryptographyError(.tooShort, "The encrypted file is shorter than its 16-byte tag.")
        }
        end = sizeOnDisk - UInt64(StreamBox.tagLength)
        content = arguments.content ?? 0..<end
        guard content.upperBound <= end else {
            throw CryptographyError(.tooShort, "The encrypted file is shorter than its content.")
        }
        self.file = file
        self.arguments = arguments
        self.trust = Lock(trust)
    }

    /// - Parameter isTrusted: Whether to read without verification.
    /// - Throws: `.tooShort` if the file is shorter than a tag, `.invalidKey` for arguments of wrong lengths, `.file`.
    public convenience init(
        file: OpenFile, arguments: FileArguments, isTrusted: Bool = false
    ) throws(CryptographyError) {
        try self.init(file, arguments, isTrusted ? .taken : .none)
    }

    /// - Parameter tags: The tags of this file, from an earlier verification or from its writer.
    /// - Throws: The errors of the initializer without tags.
    public convenience init(
        file: OpenFile, arguments: FileArguments, tags: BlockTags
    ) throws(CryptographyError) {
        try self.init(file, arguments, .proven(tags))
    }

    public var isVerified: Bool {
        trust.withLock { if case .none = $0 { false } else { true } }
    }

    /// The block tags that reads check, or nil before verification.
    public var tags: BlockTags? {
        trust.withLock { if case .proven(let tags) = $0 { tags } else { nil } }
    }

    /// Reads the whole file once and compares its tag, at about 3 GB/s from the page cache. Blocks.
    /// - Throws: `.notAuthentic` if the file was changed, cut, or belongs to another key; `.tooShort` if it shrank
    ///   after opening; `.file`.
    public func verify() throws(CryptographyError) {
        var verification = beginVerification()
        while try !step(&verification) {}
    }

    /// A verification in progress. Copies are independent.
    public struct Verification: Sendable {
        fileprivate var authenticator: StreamBox
        fileprivate let tags: BlockTags
        fileprivate var tagging: BlockTagging
        fileprivate var content: Range<UInt64>
        fileprivate var fileDigest: SHA512?
        /// The number of verified bytes of content.
        public var position: UInt64 {
            min(max(authenticator.position, content.lowerBound), content.upperBound) - content.lowerBound
        }
        /// The SHA-512 of the whole file as it lies on the disk, after the last step; nil if it was not wanted.
        public var digest: [UInt8]? { fileDigest?.finalize() }
    }

    /// - Parameter digesting: Whether to compute the SHA-512 of the file as it lies on the disk.
    public func beginVerification(digesting: Bool = false) -> Verification {
        let tags = BlockTags(contentOffset: content.lowerBound)
        return Verification(
            authenticator: box, tags: tags, tagging: BlockTagging(tags), content: content,
            fileDigest: digesting ? SHA512() : nil)
    }

    /// Verifies the next MiB. After the last one, compares the tag, returns true and enables `read`. Blocks.
    /// - Parameter receive: Receives the content in order. It is unverified until the last step succeeds. If nil,
    ///   nothing is decrypted.
    /// - Throws: The errors of `verify`; the errors of `receive`.
    public func step(
        _ verification: inout Verification,
        receive: ((UnsafeRawBufferPointer) throws(CryptographyError) -> Void)? = nil
    ) throws(CryptographyError) -> Bool {
        let stepEnd = min(verification.authenticator.position + Self.stepLength, end)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlockTags.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        while verification.authenticator.position < stepEnd {
            let position = verification.authenticator.position
            let count = Int(min(UInt64(buffer.count), stepEnd - position))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try readCiphertext(into: piece, at: position)
            verification.authenticator.authenticate(UnsafeRawBufferPointer(piece))
            verification.tagging.add(UnsafeRawBufferPointer(piece))
            verification.fileDigest?.update(UnsafeRawBufferPointer(piece))
            guard let receive else { continue }
            let part = content.clamped(to: position..<position + UInt64(count))
            guard !part.isEmpty else { continue }
            let start = Int(part.lowerBound - position)
            let wanted = UnsafeMutableRawBufferPointer(rebasing: piece[start..<start + part.count])
            box.transform(wanted, at: part.lowerBound)
            try receive(UnsafeRawBufferPointer(wanted))
        }
        guard stepEnd == end else { return false }
        let tag = try compareTag(with: verification.authenticator)
        tag.withUnsafeBytes { tag in
            verification.tagging.add(tag)
            verification.fileDigest?.update(tag)
        }
        verification.tagging.finish()
        trust.withLock { [tags = verification.tags] in $0 = .proven(tags) }
        return true
    }

    private static let stepLength: UInt64 = 1 << 20

    /// Decrypts the content in order, in pieces of up to 64 KiB, and compares the tag at the end. If this throws, discard
    /// all received plaintext. Blocks.
    /// - Throws: The errors of `verify`; the errors of `receive`.
    public func decrypt(
        receive: (UnsafeRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        var verification = beginVerification()
        while try !withoutActuallyEscaping(
            receive,
            do: { (receive) throws(CryptographyError) in
                try step(&verification, receive: receive)
            })
        {}
    }

    /// Fills `buffer` with content from `offset` on. Returns fewer bytes only at the end of the content. Blocks on the
    /// disk.
    /// - Throws: `.notVerified` before a successful `verify`; `.notAuthentic` if a block was changed since; `.tooShort`
    ///   if the file shrank; `.file`. `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) -> Int {
        let trust = trust.withLock { $0 }
        if case .none = trust {
            throw CryptographyError(.notVerified, "The encrypted file has not been verified yet.")
        }
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        let position = content.lowerBound + offset
        if case .proven(let tags) = trust {
            try tags.read(file, into: piece, at: position)
        } else {
            try readCiphertext(into: piece, at: position)
        }
        box.transform(piece, at: position)
        return count
    }

    /// The progress of a check that accompanies sequential reads.
    public struct Check: Sendable {
        fileprivate var authenticator: StreamBox
    }

    public func beginCheck() -> Check { Check(authenticator: box) }

    /// Reads like `read(into:at:)`, but before the tag was compared. Do not trust the bytes until `finish` succeeds.
    /// Only a read that continues the previous one advances the check.
    /// - Throws: `.tooShort` if the file shrank, `.file`.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, checking check: inout Check
    ) throws(CryptographyError) -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        let position = content.lowerBound + offset
        try readCiphertext(into: piece, at: position)
        if position == check.authenticator.position {
            check.authenticator.authenticate(UnsafeRawBufferPointer(piece))
        }
        box.transform(piece, at: position)
        return count
    }

    /// Compares the tag. Verifies the whole file if the reads were not sequential, or if the file has more than
    /// content.
    /// - Throws: The errors of `verify`.
    public func finish(_ check: Check) throws(CryptographyError) {
        guard check.authenticator.position == end else { return try verify() }
        _ = try compareTag(with: check.authenticator)
    }

    private func compareTag(with authenticator: StreamBox) throws(CryptographyError) -> [UInt8] {
        let tag = try wrappingSystemError { () throws(SystemError) in
            try file.read(count: StreamBox.tagLength, at: end)
        }
        guard authenticator.isAuthentic(tag) else {
            throw CryptographyError(
                .notAuthentic,
                "The encrypted file was changed, cut off, or belongs to another key: its tag is wrong.")
        }
        return tag
    }

    private func readCiphertext(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        let count = try wrappingSystemError { () throws(SystemError) in
            try file.read(into: buffer, at: offset)
        }
        guard count == buffer.count else {
            throw CryptographyError(.tooShort, "The encrypted file became shorter while it was read.")
        }
    }
}
