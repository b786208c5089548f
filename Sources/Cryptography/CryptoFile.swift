import Base
import CLinux
import Glibc
import Posix

/// Whole files to CryptoFiles and back, with constant memory. Both give their result its name only when
/// it is complete and right, so nobody ever meets half of one under that name. All calls block.
public enum CryptoFile {
    /// A fresh pair for one file.
    public static func freshArguments(random: some RandomSource = SystemRandomSource()) -> FileArguments {
        FileArguments(
            key: random.bytes(StreamBox.keyLength), nonce: random.bytes(StreamBox.nonceLength))
    }

    /// Encrypts the file at `source` into a new CryptoFile at `destination`, which may exist and is then
    /// replaced, and answers the arguments that open it.
    ///
    /// - Parameter keep: given the arguments when the file is complete and has no name yet. What it throws
    ///   leaves `destination` as it was: an encrypted file whose key nobody has is a lost one.
    /// - Throws: `.file`, `.notRegularFile` for what is at `destination`; what `keep` throws.
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

    /// Decrypts the CryptoFile at `source` into `destination`, which may exist and is then replaced.
    /// A wrong tag leaves `destination` as it was: absent or old.
    /// - Throws: as `CryptoFileReader` and its `decrypt`; `.notRegularFile` for what is at `destination`.
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

    /// Reads to the end of what may also be a pipe.
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
