import Base
import Posix

/// Reads a CryptoFile at any position after one check of its tag.
///
/// The tag covers the whole file, so `read` fails until `verify` has succeeded. Verifying also computes a tag for each
/// block, and later reads check those. A CryptoFile is never changed in place. Thread-safe.
public final class CryptoFileReader: Sendable {
    private enum Trust: Sendable {
        case none
        /// Verified; reads check the block tags.
        case proven(ProvenFile)
        /// Trusted by the caller; reads check nothing.
        case taken
    }

    /// The length of the plaintext in bytes.
    public let size: UInt64
    private let file: OpenFile
    private let box: StreamBox
    private let trust: Lock<Trust>

    private init(_ file: OpenFile, _ arguments: FileArguments, _ trust: Trust) throws(CryptographyError) {
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        let sizeOnDisk = try wrappingSystemError { () throws(SystemError) in try file.size() }
        guard sizeOnDisk >= UInt64(StreamBox.tagLength) else {
            throw CryptographyError(.tooShort, "The encrypted file is shorter than its 16-byte tag.")
        }
        self.file = file
        self.trust = Lock(trust)
        size = sizeOnDisk - UInt64(StreamBox.tagLength)
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
        try self.init(file, arguments, .proven(ProvenFile(file: file, tags: tags)))
    }

    public var isVerified: Bool {
        trust.withLock { if case .none = $0 { false } else { true } }
    }

    /// The block tags that reads check, or nil before verification.
    public var tags: BlockTags? {
        trust.withLock { if case .proven(let proven) = $0 { proven.tags } else { nil } }
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
        fileprivate var tagging = BlockTagging()
        /// The number of verified plaintext bytes.
        public var position: UInt64 { authenticator.position }
    }

    public func beginVerification() -> Verification { Verification(authenticator: box) }

    /// Verifies the next MiB. After the last one, compares the tag, returns true and enables `read`. Blocks.
    /// - Parameter receive: Receives the plaintext in order. It is unverified until the last step succeeds. If nil,
    ///   nothing is decrypted.
    /// - Throws: The errors of `verify`; the errors of `receive`.
    public func step(
        _ verification: inout Verification,
        receive: ((UnsafeRawBufferPointer) throws(CryptographyError) -> Void)? = nil
    ) throws(CryptographyError) -> Bool {
        let end = min(verification.position + Self.stepLength, size)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlockTags.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        while verification.position < end {
            let position = verification.position
            let count = Int(min(UInt64(buffer.count), end - position))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try readCiphertext(into: piece, at: position)
            verification.authenticator.authenticate(UnsafeRawBufferPointer(piece))
            verification.tagging.add(UnsafeRawBufferPointer(piece))
            guard let receive else { continue }
            box.transform(piece, at: position)
            try receive(UnsafeRawBufferPointer(piece))
        }
        guard end == size else { return false }
        let tag = try compareTag(with: verification.authenticator)
        tag.withUnsafeBytes { verification.tagging.add($0) }
        verification.tagging.publish()
        let proven = ProvenFile(file: file, tags: verification.tagging.tags)
        trust.withLock { $0 = .proven(proven) }
        return true
    }

    private static let stepLength: UInt64 = 1 << 20

    /// Decrypts the file in order, in pieces of up to 64 KiB, and compares the tag at the end. If this throws, discard
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

    /// Fills `buffer` with plaintext from `offset` on. Returns fewer bytes only at the end of the file. Blocks on the
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
        if case .proven(let proven) = trust {
            try proven.read(into: piece, at: offset)
        } else {
            try readCiphertext(into: piece, at: offset)
        }
        box.transform(piece, at: offset)
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
        try readCiphertext(into: piece, at: offset)
        if offset == check.authenticator.position {
            check.authenticator.authenticate(UnsafeRawBufferPointer(piece))
        }
        box.transform(piece, at: offset)
        return count
    }

    /// Compares the tag. Verifies the whole file if the reads were not sequential.
    /// - Throws: The errors of `verify`.
    public func finish(_ check: Check) throws(CryptographyError) {
        guard check.authenticator.position == size else { return try verify() }
        _ = try compareTag(with: check.authenticator)
    }

    private func compareTag(with authenticator: StreamBox) throws(CryptographyError) -> [UInt8] {
        let tag = try wrappingSystemError { () throws(SystemError) in
            try file.read(count: StreamBox.tagLength, at: size)
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
