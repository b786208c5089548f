import Base
import ChatCore
import Cryptography
import Glibc
import Media
import Posix

/// Composes messages for `chatfs send` from files on disk.
enum FileSending {
    /// Encrypts the file at `path` into `stagingFolder` and composes its message. Blocks.
    ///
    /// The command does this even if a daemon sends the message, because the file may lie on that daemon's own mount,
    /// which the daemon must not read.
    /// - Parameters:
    ///   - form: Form of the message; nil to derive it from content and name.
    ///   - isInterrupted: Called repeatedly; throws to stop.
    static func compose(
        _ path: String, caption: String, as form: MediaForm? = nil, limit: UInt64?, stagingFolder: String,
        isInterrupted: () throws -> Void
    ) throws -> Composed {
        let (file, status) = try naming(path) {
            // O_NONBLOCK: opening a pipe would wait for a writer.
            let file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK)
            return (file, try file.status())
        }
        let size = try Self.size(status, limit: limit)
        let given = path.lastPathName ?? path
        let content: MediaContent = { offset, count in try file.read(count: count, at: offset) }
        let kind =
            try form.map { try MediaInspection.kind(as: $0, size: size, content: content) }
            ?? MediaInspection.kind(name: Array(given.utf8), size: size, content: content)
        let id = Hexadecimal.encode(SystemRandomSource().bytes(16))
        let staged = stagingFolder + "/send-" + id
        let arguments = CryptoFile.freshArguments()
        var digest = SHA256()
        do {
            let written = try encrypt(file, to: staged, arguments) { bytes in
                try isInterrupted()
                digest.update(bytes)
            }
            guard written == size else {
                throw ChatError(.invalidCommand, "The file changed during reading; send it again.")
            }
        } catch {
            unlink(staged)
            throw error
        }
        let message = ComposedMessage(
            id: id, fileName: SafeFileName.make(from: given) ?? "file", size: size,
            source: FileSourceLocation(path: staged, arguments: arguments),
            content: MessageContent(kind: kind, text: caption),
            modified: Timestamp(seconds: Int64(status.st_mtim.tv_sec)))
        return Composed(message: message, form: form, digest: digest.finalize())
    }

    private static func size(_ status: stat, limit: UInt64?) throws(ChatError) -> UInt64 {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ChatError(.invalidCommand, "Only a regular file can be sent.")
        }
        let size = UInt64(status.st_size)
        if let limit, size > limit {
            throw ChatError(
                .tooLarge,
                "The file is too large: chats accept up to \(limit) bytes, Saved notes any size.")
        }
        return size
    }

    /// - Parameter note: Receives every piece of the content.
    private static func encrypt(
        _ file: OpenFile, to path: String, _ arguments: FileArguments,
        note: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> UInt64 {
        let staged = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
        let writer = try CryptoFileWriter(file: staged, arguments: arguments)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while true {
            let count = try file.read(into: buffer, at: position)
            if count == 0 {
                try writer.finish()
                // The core takes the file as it is, so it must survive a power cut.
                try staged.synchronise()
                return position
            }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            try note(piece)
            try writer.append(piece)
            position += UInt64(count)
        }
    }

    /// A composed message with the digest of its content.
    struct Composed: Sendable {
        var message: ComposedMessage
        /// The form chosen by the user.
        var form: MediaForm?
        var digest: [UInt8]

        /// Returns the mark, equal for equal name, caption, form, content and chat.
        func mark(of chat: String) -> String {
            var hash = SHA256()
            let form = form.map { ["as " + $0.rawValue] } ?? []
            for text in [chat, message.fileName, message.content.text] + form {
                let bytes = Array(text.utf8)
                hash.update(Array("\(bytes.count):".utf8) + bytes)
            }
            hash.update(digest)
            return Hexadecimal.encode(hash.finalize())
        }
    }
}
