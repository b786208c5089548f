import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A complete copy, checked as a whole and ready to be read at any position. Known by its identity: what is said
/// of an earlier copy is not said of this one. Any thread.
final class WholeContent: Sendable {
    enum Location: Sendable {
        /// The core's, decrypted on demand and a little ahead of who reads on.
        case cryptoFile(CryptoFileReader, DecryptedAhead, StoredFile)
        /// The core's, as it is.
        case plain(OpenFile, StoredFile)
        /// All chunks in a cache that is not sealed, with the position in their stream where the content begins.
        case stream(CachedStream, contentOffset: UInt64)
        /// Decrypted into a cache that is not sealed.
        case copy(PlainCopy)
    }

    private let location: Location

    init(_ location: Location) { self.location = location }

    /// Opens the core's copy and, when it is encrypted, checks its tag, unless `verified` remembers the tags of
    /// its blocks. A length that contradicts the message is `damaged`.
    /// - Parameter progress: told as the check gets on.
    static func open(
        _ source: FileSourceLocation, size: UInt64, verified: VerifiedFiles,
        progress: @escaping @Sendable () -> Void
    ) async throws -> WholeContent {
        let path = source.path
        guard let arguments = source.arguments else {
            return try await Verification.threads.run { () throws(any Error) in
                let file = try OpenFile(path, flags: O_RDONLY)
                let stored = StoredFile(path: path, stamp: FileStamp(try file.status()))
                guard try file.size() == size else { throw wrongLength }
                return WholeContent(.plain(file, stored))
            }
        }
        let file = try await Verification.threads.run { () throws(any Error) in
            let file = try OpenFile(path, flags: O_RDONLY)
            guard CryptoFile.hasContent(of: size, fileSize: try file.size(), arguments) else {
                throw wrongLength
            }
            return file
        }
        let (reader, stamp) = try await verified.reader(of: file, arguments, progress: progress)
        return WholeContent(.cryptoFile(reader, DecryptedAhead(), StoredFile(path: path, stamp: stamp)))
    }

    /// What was found right is not what comes from the disk now.
    func forgetCheck(_ verified: VerifiedFiles) {
        if case .cryptoFile(_, _, let stored) = location { verified.forget(stored.stamp) }
    }

    /// Whether it is what was opened and checked. Asks the disk once where the core's copy is served; what
    /// lies in the cache is nobody else's.
    var isUnchanged: Bool {
        switch location {
        case .cryptoFile(_, _, let stored), .plain(_, let stored): stored.isUnchanged
        case .stream, .copy: true
        }
    }

    fileprivate static var wrongLength: HydrationError {
        HydrationError(.damaged, FileProblem.wrongLength.sentence)
    }

    /// Decrypted bytes in the cache's folder.
    var cached: UInt64 {
        switch location {
        case .cryptoFile, .plain: 0
        case .stream(let stream, _): stream.bytesOnDisk
        case .copy(let copy): copy.size
        }
    }

    /// Fills `buffer`, which ends with the content at the latest.
    /// - Throws: `.damaged` when the core's file became shorter: an answer is never short.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> ReadResult {
        switch location {
        case .cryptoFile(let reader, let ahead, _):
            switch ahead.take(into: buffer, at: offset) {
            case .whole(let ready): return .ready(ready)
            case .copied(let count):
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                if rest.isEmpty { return .filled(count) }
                return .filled(count + (try reader.read(into: rest, at: offset + UInt64(count))))
            }
        case .plain(let file, _):
            guard try file.read(into: buffer, at: offset) == buffer.count else { throw Self.wrongLength }
            return .filled(buffer.count)
        case .copy(let copy): return .filled(try copy.file.read(into: buffer, at: offset))
        case .stream(let stream, let contentOffset):
            guard try stream.read(into: buffer, at: contentOffset + offset) else {
                throw HydrationError(.cache, "The cache on disk does not give back what was written to it.")
            }
            return .filled(buffer.count)
        }
    }

    /// The content in a file of a cache that is not sealed.
    var plainFile: OpenFile? {
        if case .copy(let copy) = location { copy.file } else { nil }
    }

    /// Gives a plain copy's place back, whoever still holds it: the kernel reads it by itself, and finds nothing
    /// from then on. The core's copy is the core's affair. Blocks on the disk.
    func erase() {
        guard case .copy(let copy) = location else { return }
        do {
            try copy.file.truncate(to: 0)
        } catch {
            Log("hydration").error("a file that is gone could not be emptied: \(error.sentence)")
        }
    }

    /// After an answer has gone: what its reader will most likely ask for next.
    func prepareNext() {
        guard case .cryptoFile(let reader, let ahead, _) = location else { return }
        ahead.prepare { try reader.read(into: $0, at: $1) }
    }

    /// A reader has gone: what was made for it goes too.
    func forgetNext() {
        if case .cryptoFile(_, let ahead, _) = location { ahead.forget() }
    }
}

/// The plaintext of a stored file in a file without a name.
final class PlainCopy: Sendable {
    let file: OpenFile
    let size: UInt64
    private let usage: CacheUsage

    /// Decrypts the CryptoFile at `path` into `file`, checking it on the way.
    static func decrypting(
        _ path: String, _ arguments: FileArguments, size: UInt64, into file: OpenFile, usage: CacheUsage,
        progress: @escaping @Sendable () -> Void
    ) async throws -> PlainCopy {
        let reader = try await Verification.threads.run { () throws(any Error) in
            let stored = try OpenFile(path, flags: O_RDONLY)
            return try CryptoFileReader(file: stored, arguments: arguments)
        }
        guard reader.size == size else { throw WholeContent.wrongLength }
        try await Verification.run(reader, into: file, progress: progress)
        return PlainCopy(adopting: file, size: size, usage: usage)
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
