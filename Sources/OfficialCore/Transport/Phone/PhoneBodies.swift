import Base
import ChatCore
import Cryptography
import Glibc
import Network
import Posix

/// Writes a file from the phone as a CryptoFile: unchanged if it is encrypted there, else with a new key.
final class FetchedFile: BodySink {
    let arguments: FileArguments
    private let target: OpenFile
    private let progress: @Sendable () -> Void
    /// Expected number of received bytes.
    private let expected: UInt64
    private let mutex = BlockingMutex()
    // Only accessed under `mutex`, which also serialises the file's writes.
    private nonisolated(unsafe) var received: UInt64 = 0
    /// nil if the received bytes are already encrypted.
    private nonisolated(unsafe) let writer: CryptoFileWriter?

    /// - Parameters:
    ///   - size: Bytes of plaintext.
    ///   - arguments: Key of the phone's file; nil if it is not encrypted.
    ///   - progress: Called after each part, on the connection's thread.
    init(
        size: UInt64, arguments: FileArguments?, target: OpenFile, progress: @escaping @Sendable () -> Void
    ) throws(CryptographyError) {
        self.target = target
        self.progress = progress
        if let arguments {
            self.arguments = arguments
            expected = size + UInt64(StreamBox.tagLength)
            writer = nil
        } else {
            let fresh = CryptoFile.freshArguments()
            self.arguments = fresh
            expected = size
            writer = try CryptoFileWriter(file: target, arguments: fresh)
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        try mutex.withLock {
            guard received + UInt64(bytes.count) <= expected else { throw Self.wrongSize }
            if let writer { try writer.append(bytes) } else { try target.write(bytes, at: received) }
            received += UInt64(bytes.count)
        }
        progress()
    }

    /// Blocks on disk I/O.
    /// - Throws: `.tooShort` for fewer bytes than in the message; `SystemError`, `CryptographyError` for I/O
    ///   errors.
    func finish() throws {
        try mutex.withLock {
            guard received == expected else { throw Self.wrongSize }
            _ = try writer?.finish()
            try target.synchronise()
        }
    }

    private static let wrongSize = CryptographyError(
        .tooShort, "The size of the phone's file differs from its message.")
}

/// Reads a CryptoFile for the phone, unchanged or decrypted.
final class StoredFile: BodySource {
    let length: Int
    private let file: OpenFile
    /// nil if it is sent unchanged.
    private let reader: CryptoFileReader?

    /// - Parameters:
    ///   - size: Bytes of plaintext.
    ///   - isDecrypted: If true, sends the plaintext, after verifying the whole file. Blocks.
    /// - Throws: Errors of `OpenFile` and `CryptoFileReader.verify`.
    init(_ location: FileSourceLocation, size: UInt64, isDecrypted: Bool) throws {
        file = try OpenFile(location.path, flags: O_RDONLY | O_NOFOLLOW)
        if let arguments = location.arguments, isDecrypted {
            let reader = try CryptoFileReader(file: file, arguments: arguments)
            try reader.verify()
            self.reader = reader
            length = Int(reader.size)
        } else {
            reader = nil
            length = Int(size) + (location.arguments == nil ? 0 : StreamBox.tagLength)
        }
    }

    /// SHA-512 of the bytes to send. Blocks.
    func digest() throws -> [UInt8] {
        var digest = SHA512()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var offset: UInt64 = 0
        while offset < UInt64(length) {
            let count = try buffer.withUnsafeMutableBytes { try read(into: $0, from: offset) }
            guard count > 0 else {
                throw CryptographyError(.tooShort, "The file became shorter while it was being sent.")
            }
            buffer.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += UInt64(count)
        }
        return digest.finalize()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        let left = length - offset
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, left)])
        let count = try read(into: part, from: UInt64(offset))
        guard count > 0 else {
            throw CryptographyError(.tooShort, "The file became shorter while it was being sent.")
        }
        return count
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, from offset: UInt64) throws -> Int {
        if let reader { return try reader.read(into: buffer, at: offset) }
        let wanted = min(UInt64(buffer.count), UInt64(length) - offset)
        return try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(wanted)]), at: offset)
    }
}
