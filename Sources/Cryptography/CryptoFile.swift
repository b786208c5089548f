import Base
import CLinux
import Glibc
import Posix

/// Encrypts whole files to CryptoFiles and back, in constant memory. The result gets its name only when it is complete
/// and authentic. All calls block.
public enum CryptoFile {
    /// Returns a new random key and nonce for one file.
    public static func freshArguments(random: some RandomSource = SystemRandomSource()) -> FileArguments {
        FileArguments(
            key: random.bytes(StreamBox.keyLength), nonce: random.bytes(StreamBox.nonceLength))
    }

    /// Returns whether a CryptoFile of `fileSize` bytes has `size` bytes of content.
    public static func hasContent(of size: UInt64, fileSize: UInt64, _ arguments: FileArguments) -> Bool {
        let tag = UInt64(StreamBox.tagLength)
        guard fileSize >= tag else { return false }
        let content = arguments.content ?? 0..<fileSize - tag
        return content.upperBound - content.lowerBound == size && content.upperBound <= fileSize - tag
    }

    /// Encrypts the file at `source` into a new CryptoFile at `destination`, replacing an existing file. Returns the
    /// arguments that decrypt it.
    ///
    /// - Parameter keep: Receives the arguments when the file is complete and still unnamed. If it throws,
    ///   `destination` does not change, since a file with a lost key is lost.
    /// - Throws: `.file`; `.notRegularFile` if `destination` is no regular file; the errors of `keep`.
    @discardableResult
    public static func encrypt(
        from source: String, to destination: String,
        keep: (FileArguments) throws(CryptographyError) -> Void = { _ in }
    ) throws(CryptographyError) -> FileArguments {
        let arguments = freshArguments()
        let input = try wrappingSystemError { () throws(SystemError) in
            try OpenFile(source, flags: O_RDONLY)
        }
        try UnnamedFile.write(to: destination) { (file) throws(CryptographyError) in
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try copy(input) { (piece) throws(CryptographyError) in try writer.append(piece) }
            try writer.finish()
            try keep(arguments)
        }
        return arguments
    }

    /// Decrypts the CryptoFile at `source` into `destination`, replacing an existing file. A wrong tag leaves
    /// `destination` unchanged.
    /// - Throws: The errors of `CryptoFileReader` and its `decrypt`; `.notRegularFile` if `destination` is no regular
    ///   file.
    public static func decrypt(
        from source: String, to destination: String, arguments: FileArguments
    ) throws(CryptographyError) {
        let input = try wrappingSystemError { () throws(SystemError) in
            try OpenFile(source, flags: O_RDONLY)
        }
        let reader = try CryptoFileReader(file: input, arguments: arguments)
        try UnnamedFile.write(to: destination) { (file) throws(CryptographyError) in
            var position: UInt64 = 0
            try reader.decrypt { (piece) throws(CryptographyError) in
                try wrappingSystemError { () throws(SystemError) in try file.write(piece, at: position) }
                position += UInt64(piece.count)
            }
        }
    }

    /// Copies until the end of a file or pipe.
    private static func copy(
        _ file: OpenFile, _ receive: (UnsafeRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            let count = try wrappingSystemError { () throws(SystemError) in
                try check("read a file") { read(file.descriptor, buffer.baseAddress, buffer.count) }
            }
            if count == 0 { return }
            try receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
