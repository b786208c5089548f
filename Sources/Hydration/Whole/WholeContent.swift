import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A complete copy, checked as a whole and ready to be read at any position.
enum WholeContent: Sendable {
    /// The core's, decrypted on demand and a little ahead of who reads on.
    case cryptoFile(CryptoFileReader, DecryptedAhead)
    /// The core's, as it is.
    case plain(OpenFile)
    /// All chunks in a cache that is not sealed, with the position in their stream where the content begins.
    case stream(CachedStream, contentOffset: UInt64)
    /// Decrypted into a cache that is not sealed.
    case copy(PlainCopy)

    /// Opens the core's copy and, when it is encrypted, checks its tag, unless `verified` remembers that
    /// it was checked. A length that contradicts the message is `damaged`. Blocks for the time of reading
    /// the file.
    static func open(
        _ source: FileSourceLocation, size: UInt64, verified: VerifiedFiles
    ) throws -> WholeContent {
        let file = try OpenFile(source.path, flags: O_RDONLY)
        guard let arguments = source.arguments else {
            guard try file.size() == size else { throw wrongLength }
            return .plain(file)
        }
        let wasVerified = verified.contains(try file.status())
        let reader = try CryptoFileReader(file: file, arguments: arguments, wasVerified: wasVerified)
        guard reader.size == size else { throw wrongLength }
        if !wasVerified {
            try reader.verify()
            verified.add(try file.status())
        }
        return .cryptoFile(reader, DecryptedAhead())
    }

    private static var wrongLength: HydrationError {
        HydrationError(.damaged, FileProblem.wrongLength.sentence)
    }

    /// Decrypted bytes in the cache's folder.
    var cached: UInt64 {
        switch self {
        case .cryptoFile, .plain: 0
        case .stream(let stream, _): stream.bytesOnDisk
        case .copy(let copy): copy.size
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        switch self {
        case .cryptoFile(let reader, let ahead):
            let ready = ahead.take(into: buffer, at: offset)
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[ready...])
            if rest.isEmpty { return ready }
            return ready + (try reader.read(into: rest, at: offset + UInt64(ready)))
        case .plain(let file): return try file.read(into: buffer, at: offset)
        case .copy(let copy): return try copy.file.read(into: buffer, at: offset)
        case .stream(let stream, let contentOffset):
            guard try stream.read(into: buffer, at: contentOffset + offset) else {
                throw HydrationError(.cache, "The cache on disk does not give back what was written to it.")
            }
            return buffer.count
        }
    }
}

extension WholeContent {
    /// After an answer has gone: what its reader will most likely ask for next.
    func prepareNext() {
        guard case .cryptoFile(let reader, let ahead) = self else { return }
        ahead.prepare { try reader.read(into: $0, at: $1) }
    }
}

/// The plaintext of a stored file in a file without a name.
final class PlainCopy: Sendable {
    let file: OpenFile
    let size: UInt64
    private let usage: CacheUsage

    /// Decrypts all of `reader` into `file`, checking it on the way. Blocks.
    init(of reader: CryptoFileReader, in file: OpenFile, usage: CacheUsage) throws {
        self.file = file
        self.usage = usage
        size = reader.size
        var position: UInt64 = 0
        try reader.decrypt { (piece) throws(CryptographyError) in
            do throws(SystemError) {
                try file.write(piece, at: position)
            } catch {
                throw CryptographyError(error)
            }
            position += UInt64(piece.count)
        }
        usage.take(size)
    }

    /// Takes a file that is the plaintext already.
    init(adopting file: OpenFile, size: UInt64, usage: CacheUsage) {
        self.file = file
        self.size = size
        self.usage = usage
        usage.take(size)
    }

    deinit { usage.give(size) }
}

/// Files whose tag was found right by this process. One that was changed since, which nobody should, is
/// another by its times.
final class VerifiedFiles: Sendable {
    private struct Stamp: Hashable {
        var device: UInt
        var inode: UInt
        var size: Int
        var modified: Int
        var modifiedNanoseconds: Int
        var changed: Int
        var changedNanoseconds: Int

        init(_ status: stat) {
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            modified = status.st_mtim.tv_sec
            modifiedNanoseconds = status.st_mtim.tv_nsec
            changed = status.st_ctim.tv_sec
            changedNanoseconds = status.st_ctim.tv_nsec
        }
    }

    /// What is not remembered is checked again: no harm but time.
    private static let most = 10_000
    private let stamps = Lock<Set<Stamp>>([])

    func contains(_ status: stat) -> Bool { stamps.withLock { $0.contains(Stamp(status)) } }

    func add(_ status: stat) {
        stamps.withLock { stamps in
            if stamps.count >= Self.most { stamps.removeAll() }
            stamps.insert(Stamp(status))
        }
    }
}
