import Base
import Posix

/// Reads a CryptoFile at any position, after its tag was checked once.
///
/// Shared by any number of threads. The tag covers the file as a whole and a partial read proves nothing, so
/// `read` refuses to work before `verify` has succeeded; that pass makes a tag of each block too, by which
/// every later read proves what comes from the disk. A CryptoFile is never changed in place.
public final class CryptoFileReader: Sendable {
    private enum Trust: Sendable {
        case none
        /// By the tags of its blocks.
        case proven(ProvenFile)
        /// By its caller's word.
        case taken
    }

    /// Length of the plaintext in bytes: what lies on disk without the tag.
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

    /// - Parameter isTrusted: whoever reads can live with bytes that nobody has checked.
    /// - Throws: `.tooShort` when not even a tag fits, `.invalidKey` for arguments of other lengths, `.file`.
    public convenience init(
        file: OpenFile, arguments: FileArguments, isTrusted: Bool = false
    ) throws(CryptographyError) {
        try self.init(file, arguments, isTrusted ? .taken : .none)
    }

    /// - Parameter tags: of this very file, from an earlier check or from its writer.
    /// - Throws: as without tags.
    public convenience init(
        file: OpenFile, arguments: FileArguments, tags: BlockTags
    ) throws(CryptographyError) {
        try self.init(file, arguments, .proven(ProvenFile(file: file, tags: tags)))
    }

    public var isVerified: Bool {
        trust.withLock { if case .none = $0 { false } else { true } }
    }

    /// Those by which reads prove their bytes; nil before the file was verified.
    public var tags: BlockTags? {
        trust.withLock { if case .proven(let proven) = $0 { proven.tags } else { nil } }
    }

    /// Reads the file once and compares its tag. About 3 GB/s from the page cache. Blocks.
    /// - Throws: `.notAuthentic` when it was changed, cut, or belongs to another key; `.tooShort` when it became
    ///   shorter since it was opened; `.file`.
    public func verify() throws(CryptographyError) {
        var verification = beginVerification()
        while try !step(&verification) {}
    }

    /// A pass over the whole file that is made step by step. A copy goes its own way.
    public struct Verification: Sendable {
        fileprivate var authenticator: StreamBox
        fileprivate var tagging = BlockTagging()
        /// Bytes of plaintext that it has gone over.
        public var position: UInt64 { authenticator.position }
    }

    public func beginVerification() -> Verification { Verification(authenticator: box) }

    /// Goes over the next MiB, and after the last compares the tag: true when all is right, and `read` works
    /// from now on. Blocks.
    /// - Parameter receive: given the plaintext in order, which is worth nothing when a later step throws; nil
    ///   spares decrypting.
    /// - Throws: as `verify`; what `receive` throws.
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

    /// Gives all plaintext in order, in pieces of up to 64 KiB, and compares the tag at the end. What
    /// `receive` got is worth nothing when this throws. Blocks.
    /// - Throws: as `verify`; what `receive` throws.
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

    /// Fills `buffer` with plaintext from `offset` on; fewer bytes only at the end of the file. Blocks on
    /// the disk.
    /// - Throws: `.notVerified` before a successful `verify`; `.notAuthentic` when a block was changed since,
    ///   `.tooShort` when the file became shorter; `.file`. `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) -> Int {
        let trust = trust.withLock { $0 }
        if case .none = trust {
            throw CryptographyError(.notVerified, "The encrypted file's tag has not been checked yet.")
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

    /// How far a check has come that goes along with reading in order.
    public struct Check: Sendable {
        fileprivate var authenticator: StreamBox
    }

    public func beginCheck() -> Check { Check(authenticator: box) }

    /// As `read`, before the tag was compared: what comes must not be trusted before `finish` has returned.
    /// A read that begins where the one before ended moves the check on; others leave it behind.
    /// - Throws: `.tooShort` when the file became shorter, `.file`.
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

    /// Compares the tag. What the reads left out is read now.
    /// - Throws: as `verify`.
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
