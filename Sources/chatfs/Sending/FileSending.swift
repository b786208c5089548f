import Base
import ChatCore
import Cryptography
import Glibc
import Media
import Posix

/// Sends a file that lies somewhere on disk: what `chatfs send` does.
enum FileSending {
    /// Encrypts the file at `path` into `stagingFolder` and composes the message to send. Blocks.
    ///
    /// The caller does this itself also when a mount's daemon does the sending: the file may lie in
    /// that very mount, and a daemon that reads its own mount waits for itself.
    ///
    /// - Parameters:
    ///   - form: as what it is sent; nil: by its content and name.
    ///   - isInterrupted: asked now and then; throws when it is to end.
    static func compose(
        _ path: String, caption: String, as form: MediaForm? = nil, limit: UInt64?, stagingFolder: String,
        isInterrupted: () throws -> Void
    ) throws -> Composed {
        let (file, status) = try naming(path) {
            // A pipe would have this wait until somebody writes into it.
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
                throw ChatError(.invalidCommand, "The file changed while it was read; send it again.")
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
                "The file is too large: chats take up to \(limit) bytes, Saved notes take any size.")
        }
        return size
    }

    /// - Parameter note: given every piece of the content.
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
                // The core takes it as it is, and may have to answer for it after a power cut.
                try staged.synchronise()
                return position
            }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            try note(piece)
            try writer.append(piece)
            position += UInt64(count)
        }
    }

    /// A message that is ready to be sent, and the digest of what it sends.
    struct Composed: Sendable {
        var message: ComposedMessage
        /// As what its user wants it to be sent.
        var form: MediaForm?
        var digest: [UInt8]

        /// The same whenever the same is to be sent into this chat: by name, caption, form and content.
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
