import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A complete copy, checked as a whole and ready to be read at any position.
enum WholeContent: Sendable {
    /// The core's, decrypted on demand and a little ahead of who reads on.
    case cryptoFile(CryptoFileReader, DecryptedAhead, StoredFile)
    /// The core's, as it is.
    case plain(OpenFile, StoredFile)
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
            let stored = StoredFile(path: source.path, stamp: FileStamp(try file.status()))
            guard try file.size() == size else { throw wrongLength }
            return .plain(file, stored)
        }
        // Nobody has it before the check below.
        let reader = try CryptoFileReader(file: file, arguments: arguments, wasVerified: true)
        guard reader.size == size else { throw wrongLength }
        let stamp = try verified.check(file) { try reader.verify() }
        return .cryptoFile(reader, DecryptedAhead(), StoredFile(path: source.path, stamp: stamp))
    }

    /// Whether it is what was opened and checked. Asks the disk once where the core's copy is served; what
    /// lies in the cache is nobody else's.
    var isUnchanged: Bool {
        switch self {
        case .cryptoFile(_, _, let stored), .plain(_, let stored): stored.isUnchanged
        case .stream, .copy: true
        }
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

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> ImmediateRead {
        switch self {
        case .cryptoFile(let reader, let ahead, _):
            switch ahead.take(into: buffer, at: offset) {
            case .whole(let ready): return .ready(ready)
            case .copied(let count):
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                if rest.isEmpty { return .filled(count) }
                return .filled(count + (try reader.read(into: rest, at: offset + UInt64(count))))
            }
        case .plain(let file, _): return .filled(try file.read(into: buffer, at: offset))
        case .copy(let copy): return .filled(try copy.file.read(into: buffer, at: offset))
        case .stream(let stream, let contentOffset):
            guard try stream.read(into: buffer, at: contentOffset + offset) else {
                throw HydrationError(.cache, "The cache on disk does not give back what was written to it.")
            }
            return .filled(buffer.count)
        }
    }
}

extension WholeContent {
    /// After an answer has gone: what its reader will most likely ask for next.
    func prepareNext() {
        guard case .cryptoFile(let reader, let ahead, _) = self else { return }
        ahead.prepare { try reader.read(into: $0, at: $1) }
    }

    /// A reader has gone: what was made for it goes too.
    func forgetNext() {
        if case .cryptoFile(_, let ahead, _) = self { ahead.forget() }
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
