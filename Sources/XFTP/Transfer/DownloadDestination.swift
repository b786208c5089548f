import Base
import Cryptography
import Posix

/// Where a downloaded file goes. Blocking; called on pool threads.
///
/// Nothing that was written counts before `finish`. What an interrupted download has written is read
/// back by the next one, which uses what proves right, writes it again and fetches the rest. Whatever is thrown ends the
/// download with `XFTPError.storage` and becomes its cause, a `SystemError` where the disk refused; an `XFTPError` is
/// thrown on.
public protocol DownloadDestination: Sendable {
    /// Bytes of content that an earlier attempt left, from the start of the content on.
    func bytesPresent() throws -> UInt64
    /// The header has been read. Called once, before `write`.
    func begin(_ header: FileHeader) throws
    /// Reads present bytes back, from any place, while other places are being written.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
    /// The next bytes of content, in order from 0. `bytes` may be changed.
    func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws
    /// The whole file has been checked and is `size` bytes long: make it durable.
    func finish(size: UInt64) throws
}

/// A CryptoFile, written without plaintext ever being on disk, and read back before it counts. Resumable when
/// file and arguments are the same as before.
public final class CryptoFileDestination: DownloadDestination {
    private let file: OpenFile
    private let cipher: StreamBox
    /// Encrypts and authenticates what is written, in order, and makes the tags by which it is read back.
    private let sealing: Lock<(box: StreamBox, tags: BlockTagging)>

    /// - Parameter file: open for reading and writing.
    /// - Throws: `.invalidKey` for arguments of other lengths.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        cipher = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        sealing = Lock((cipher, BlockTagging()), rank: .collection)
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
        sealing.withLock { sealing in
            sealing.box.seal(bytes)
            sealing.tags.add(UnsafeRawBufferPointer(bytes))
        }
        try file.write(UnsafeRawBufferPointer(bytes), at: offset)
        // So that the flush at the end has little left to do.
        file.beginWritingBack()
    }

    /// - Throws: `SystemError` where the disk refuses; `CryptographyError` `.notAuthentic` when it does not keep
    ///   what was written.
    public func finish(size: UInt64) throws {
        let (tag, tags) = sealing.withLock { sealing in
            let tag = sealing.box.tag()
            tag.withUnsafeBytes { sealing.tags.add($0) }
            sealing.tags.publish()
            return (tag, sealing.tags.tags)
        }
        try file.truncate(to: size)
        try file.write(tag, at: size)
        try file.synchronise()
        try ProvenFile(file: file, tags: tags).confirm()
    }
}

/// Content that stays in memory, up to a limit: the description behind a redirect.
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
