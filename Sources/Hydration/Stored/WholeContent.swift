import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A verified complete copy that is readable at any position. Copies are told apart by object identity.
/// Thread-safe.
final class WholeContent: Sendable {
    enum Location: Sendable {
        /// The core's encrypted file, decrypted on demand and ahead of sequential readers.
        case cryptoFile(CryptoFileReader, DecryptedAhead, StoredFile)
        /// The core's plain file.
        case plain(OpenFile, StoredFile)
        /// A decrypted copy in the plain cache.
        case copy(PlainCopy)
    }

    private let location: Location

    init(_ location: Location) { self.location = location }

    /// Opens the core's copy. Verifies the tag of an encrypted file unless `verified` has its block tags.
    /// - Parameter progress: Called as the verification proceeds.
    /// - Throws: `damaged` if the length differs from the message.
    static func open(
        _ source: FileSourceLocation, of id: FileID, size: UInt64, verified: VerifiedFiles,
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
        let (reader, stamp) = try await verified.reader(of: id, in: file, arguments, progress: progress)
        return WholeContent(.cryptoFile(reader, DecryptedAhead(), StoredFile(path: path, stamp: stamp)))
    }

    /// Forgets the verification, because the disk now returns other bytes.
    func forgetCheck(of id: FileID, _ verified: VerifiedFiles) {
        guard case .cryptoFile(_, _, let stored) = location else { return }
        verified.forget(id, stored.stamp)
    }

    /// True if the copy is as it was verified. One stat(2) for a file of the core; files in the cache belong
    /// to this process alone.
    var isUnchanged: Bool {
        switch location {
        case .cryptoFile(_, _, let stored), .plain(_, let stored): stored.isUnchanged
        case .copy: true
        }
    }

    fileprivate static var wrongLength: HydrationError {
        HydrationError(.damaged, FileProblem.wrongLength.sentence)
    }

    /// Bytes of a plain copy.
    var cached: UInt64 {
        switch location {
        case .cryptoFile, .plain: 0
        case .copy(let copy): copy.size
        }
    }

    /// Fills `buffer`, whose range must end within the content.
    /// - Throws: `.damaged` if the core's file became shorter; a reply is never short.
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
        case .copy(let copy):
            // `erase` may have truncated it.
            return try copy.file.read(into: buffer, at: offset) == buffer.count
                ? .filled(buffer.count) : .failed(.deleted)
        }
    }

    /// The content as a file of the plain cache.
    var plainFile: OpenFile? {
        if case .copy(let copy) = location { copy.file } else { nil }
    }

    /// Truncates a plain copy even if the kernel still reads it directly. The core's copy stays. Blocks on
    /// disk I/O.
    func erase() {
        guard case .copy(let copy) = location else { return }
        do {
            try copy.file.truncate(to: 0)
        } catch {
            Log("hydration").error("removed copy not truncated: error=\(error.sentence)")
        }
    }

    /// Decrypts the likely next range of the reader, after a reply.
    func prepareNext() {
        guard case .cryptoFile(let reader, let ahead, _) = location else { return }
        ahead.prepare { try reader.read(into: $0, at: $1) }
    }

    /// Drops bytes decrypted ahead when a reader is gone.
    func forgetNext() {
        if case .cryptoFile(_, let ahead, _) = location { ahead.forget() }
    }
}

/// The plaintext of a stored file in an unlinked file.
final class PlainCopy: Sendable {
    let file: OpenFile
    let size: UInt64
    private let usage: Budget

    /// Decrypts the CryptoFile at `path` into `file` and verifies it.
    static func decrypting(
        _ path: String, _ arguments: FileArguments, size: UInt64, into file: OpenFile, usage: Budget,
        progress: @escaping @Sendable () -> Void
    ) async throws -> PlainCopy {
        let reader = try await Verification.threads.run { () throws(any Error) in
            let stored = try OpenFile(path, flags: O_RDONLY)
            return try CryptoFileReader(file: stored, arguments: arguments)
        }
        guard reader.size == size else { throw WholeContent.wrongLength }
        try await Verification.run(reader, into: file, progress: progress)
        return PlainCopy(file, size: size, usage: usage)
    }

    private init(_ file: OpenFile, size: UInt64, usage: Budget) {
        self.file = file
        self.size = size
        self.usage = usage
        usage.takeAnyway(size)
    }

    deinit { usage.giveBack(size) }
}
