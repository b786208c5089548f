import Base
import Cryptography
import Glibc
import Posix
import XFTP

/// The durable copy of a complete file.
extension ChunkStore {
    /// A durable, verified CryptoFile with its keys, and with its block tags if this process knows them.
    struct Copy: Sendable {
        let arguments: FileArguments
        let tags: BlockTags?
    }

    /// Verifies the complete file and makes its copy durable under `path`. May be repeated after a failure.
    /// Returns nil if the core makes the copy.
    /// - Parameter content: Place of the content in the stream.
    /// - Throws: `DamagedChunks` for chunks that the disk lost; `XFTPError.damaged` for a stream that its
    ///   sender did not encrypt.
    func makeCopy(at path: String, content: Range<UInt64>) throws -> Copy? {
        // The disk is verified, not the memory.
        forgetUnread()
        guard let folder, form.isKept else {
            try verify()
            return nil
        }
        let file = try fileWithoutName(in: folder)
        if form == .stream { try synchronise(file) }
        try verify()
        if form == .stream {
            try Self.name(file, path)
            var arguments = arguments
            arguments.content = content
            return Copy(arguments: arguments, tags: tags)
        }
        let copy = try OpenFile.unnamed(in: folder)
        let arguments = try encrypt(content, into: copy)
        try copy.synchronise()
        try CryptoFile.confirm(copy, arguments)
        try Self.name(copy, path)
        return Copy(arguments: arguments, tags: nil)
    }

    private static func name(_ file: OpenFile, _ path: String) throws(SystemError) {
        try check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
    }

    /// After a failed fsync the kernel takes the pages for written, so a repetition would succeed without a write.
    private func synchronise(_ file: OpenFile) throws(SystemError) {
        do {
            try file.synchronise()
        } catch {
            state.withLock { $0.isSpent = true }
            throw error
        }
    }

    /// Compares the tag of the whole stream, which verifies the sender's encryption and the disk in one pass.
    /// Block tags locate damage.
    private func verify() throws {
        if try isAuthentic() { return }
        var damaged = try file.map { try tags.damagedSections(of: $0) } ?? []
        damaged.removeAll { !isOnDisk($0) }
        damaged += (0..<layout.count).filter { !holds($0) }
        guard damaged.isEmpty else { throw DamagedChunks(chunks: damaged) }
        // Repeated, because the disk's error may have been transient.
        guard try isAuthentic() else { throw XFTPError.notTheSentFile }
    }

    private func isAuthentic() throws(CryptographyError) -> Bool {
        try CryptoFile.isAuthentic(size: layout.streamSize, arguments) {
            (buffer, offset) throws(SystemError) in
            try readEncrypted(into: buffer, at: offset)
        }
    }

    private func encrypt(_ content: Range<UInt64>, into file: OpenFile) throws -> FileArguments {
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(file: file, arguments: arguments)
        try inPieces(content) { piece, position in
            guard try read(into: piece, at: position) else { throw HydrationError.diskDoesNotKeep }
            try writer.append(UnsafeRawBufferPointer(piece))
        }
        try writer.finish()
        return arguments
    }

    /// The file, or a copy of it if it is spent.
    private func fileWithoutName(in folder: OpenFile) throws -> OpenFile {
        let (file, isSpent) = state.withLock { ($0.file, $0.isSpent) }
        guard let file else { preconditionFailure("a kept file is on the disk") }
        guard isSpent else { return file }
        let fresh = try OpenFile.unnamed(in: folder)
        try inPieces(0..<layout.streamSize) { piece, position in
            let count = try readEncrypted(into: piece, at: position)
            try fresh.write(UnsafeRawBufferPointer(rebasing: piece[..<count]), at: position)
        }
        try partial?.replace(with: fresh)
        state.withLock { ($0.file, $0.isSpent) = (fresh, false) }
        return fresh
    }

    private func inPieces(
        _ range: Range<UInt64>, _ body: (UnsafeMutableRawBufferPointer, UInt64) throws -> Void
    ) rethrows {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            let count = Int(min(UInt64(buffer.count), range.upperBound - position))
            try body(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), position)
            position += UInt64(count)
        }
    }
}
