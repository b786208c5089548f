import Base
import Posix

/// What has been written of a CryptoFile so far, for its writer: the tag that would prove it to others is
/// not there yet. Any thread, also while more is written.
public struct UnfinishedCryptoFile: Sendable {
    private let file: OpenFile
    private let box: StreamBox

    /// - Parameters:
    ///   - file: open for reading; what this process writes with a `CryptoFileWriter`.
    ///   - arguments: those of the writer.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
    }

    /// Fills `buffer` with plaintext from `offset` on. `tooShort` when not all of it has been flushed. Blocks
    /// on the disk.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        let count = try wrappingSystemError { () throws(SystemError) in
            try file.read(into: buffer, at: offset)
        }
        guard count == buffer.count else {
            throw CryptographyError(.tooShort, "The encrypted file became shorter while it was written.")
        }
        box.transform(buffer, at: offset)
    }
}
