import Base
import Cryptography
import Posix

/// The destination of a downloaded file. Methods block and run on pool threads.
///
/// Nothing counts before `finish`. A resumed download reads earlier bytes back, verifies them, writes them again and
/// fetches the rest. An error ends the download as the cause of `XFTPError.storage`; disk errors are `SystemError`s. An
/// `XFTPError` is rethrown unchanged.
public protocol DownloadDestination: Sendable {
    /// Returns the number of content bytes that an earlier attempt left, from the start of the content.
    func bytesPresent() throws -> UInt64
    /// Receives the header. Called once, before `write`.
    func begin(_ header: FileHeader) throws
    /// Reads present bytes at any offset, also while other offsets are written.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
    /// Writes the next bytes of content, in order from 0. `bytes` may be changed.
    func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws
    /// Called when the whole file of `size` bytes was verified. Makes it durable.
    func finish(size: UInt64) throws
}

/// Writes a CryptoFile without plaintext on disk and verifies it by reading it back. Can be resumed with the same file
/// and arguments.
public final class CryptoFileDestination: DownloadDestination {
    private let file: OpenFile
    private let arguments: FileArguments
    private let cipher: StreamBox
    /// Encrypts and authenticates written bytes in order.
    private let sealing: Lock<StreamBox>

    /// - Parameter file: A file open for reading and writing.
    /// - Throws: `.invalidKey` for arguments of wrong lengths.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        self.arguments = arguments
        cipher = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        sealing = Lock(cipher, rank: .collection)
    }

    public func bytesPresent() throws(SystemError) -> UInt64 { try file.size() }

    public func begin(_ header: FileHeader) throws {}

    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        let count = try file.read(into: buffer, at: offset)
        cipher.transform(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
        return count
    }

    public func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(SystemError) {
        sealing.withLock { $0.seal(bytes) }
        try file.write(UnsafeRawBufferPointer(bytes), at: offset)
        // Start writeback early, so that the final flush is short.
        file.beginWritingBack()
    }

    /// - Throws: `SystemError` for disk errors; `CryptographyError` `.notAuthentic` if the disk returns other bytes.
    public func finish(size: UInt64) throws {
        try file.truncate(to: size)
        try file.write(sealing.withLock { $0.tag() }, at: size)
        try file.synchronise()
        try CryptoFile.confirm(file, arguments)
    }
}

/// Keeps content in memory: the description behind a redirect.
final class MemoryDestination: DownloadDestination {
    private let content = Lock<[UInt8]>([])

    var bytes: [UInt8] { content.withLock { $0 } }

    func bytesPresent() -> UInt64 { 0 }
    func begin(_ header: FileHeader) {}
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int { 0 }
    func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) {
        content.withLock { $0.append(contentsOf: bytes) }
    }
    func finish(size: UInt64) {}
}
