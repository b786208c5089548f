import Base
import Posix

/// Reads a CryptoFile at any position, after its tag was checked once.
///
/// Shared by any number of threads. The tag covers the file as a whole and a partial read proves nothing,
/// so `read` refuses to work before `verify` has succeeded. A CryptoFile is never changed in place.
public final class CryptoFileReader: Sendable {
    /// Length of the plaintext in bytes: what lies on disk without the tag.
    public let size: UInt64
    private let file: OpenFile
    private let box: StreamBox
    private let verified: Lock<Bool>

    /// Fails with `tooShort` when not even a tag fits.
    /// - Parameter wasVerified: this very file was checked before, or written by this process, and has
    ///   not changed since.
    public init(
        file: OpenFile, arguments: FileArguments, wasVerified: Bool = false
    ) throws(CryptographyError) {
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        let sizeOnDisk = try wrappingSystemError { () throws(SystemError) in try file.size() }
        guard sizeOnDisk >= UInt64(StreamBox.tagLength) else {
            throw CryptographyError(.tooShort, "The encrypted file is shorter than its 16-byte tag.")
        }
        self.file = file
        verified = Lock(wasVerified)
        size = sizeOnDisk - UInt64(StreamBox.tagLength)
    }

    public var isVerified: Bool { verified.withLock { $0 } }

    /// Reads the file once and compares its tag: `notAuthentic` when it was changed, cut, or belongs to
    /// another key. About 5 GB/s from the page cache. Blocks.
    public func verify() throws(CryptographyError) {
        try pass { _ in }
    }

    /// Gives all plaintext in order, in pieces of up to 256 KiB, and compares the tag at the end. What
    /// `receive` got is worth nothing when this throws. Blocks.
    public func decrypt(
        receive: (UnsafeRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        var position: UInt64 = 0
        try pass { (piece) throws(CryptographyError) in
            box.transform(piece, at: position)
            position += UInt64(piece.count)
            try receive(UnsafeRawBufferPointer(piece))
        }
    }

    private func pass(
        _ each: (UnsafeMutableRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        var authenticator = box
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        while authenticator.position < size {
            let wanted = Int(min(UInt64(buffer.count), size - authenticator.position))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            try readCiphertext(into: piece, at: authenticator.position)
            authenticator.authenticate(UnsafeRawBufferPointer(piece))
            try each(piece)
        }
        try compareTag(with: authenticator)
    }

    /// Fills `buffer` with plaintext from `offset` on; fewer bytes only at the end of the file. Blocks on
    /// the disk. `notVerified` before a successful `verify`.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) -> Int {
        guard isVerified else {
            throw CryptographyError(.notVerified, "The encrypted file's tag has not been checked yet.")
        }
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        try readCiphertext(into: piece, at: offset)
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

    /// Compares the tag: `notAuthentic` as for `verify`. What the reads left out is read now.
    public func finish(_ check: Check) throws(CryptographyError) {
        guard check.authenticator.position == size else { return try verify() }
        try compareTag(with: check.authenticator)
    }

    private func compareTag(with authenticator: StreamBox) throws(CryptographyError) {
        let tag = try wrappingSystemError { () throws(SystemError) in
            try file.read(count: StreamBox.tagLength, at: size)
        }
        guard authenticator.isAuthentic(tag) else {
            throw CryptographyError(
                .notAuthentic,
                "The encrypted file was changed, cut off, or belongs to another key: its tag is wrong.")
        }
        verified.withLock { $0 = true }
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
