import ChatCore
import Cryptography
import Glibc
import Posix

/// A complete copy that the core keeps, ready to be read at any position.
enum WholeContent: Sendable {
    case cryptoFile(CryptoFileReader)
    case plain(OpenFile)

    /// Opens the core's copy and, when it is encrypted, checks its tag once. A length that contradicts
    /// the message is `damaged`. Blocks for the time of reading the file.
    static func open(_ source: FileSourceLocation, size: UInt64) throws -> WholeContent {
        let file = try OpenFile(source.path, flags: O_RDONLY)
        guard let arguments = source.arguments else {
            guard try file.size() == size else { throw wrongLength }
            return .plain(file)
        }
        let reader = try CryptoFileReader(file: file, arguments: arguments)
        guard reader.size == size else { throw wrongLength }
        try reader.verify()
        return .cryptoFile(reader)
    }

    private static var wrongLength: HydrationError {
        HydrationError(.damaged, FileProblem.wrongLength.sentence)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        switch self {
        case .cryptoFile(let reader): try reader.read(into: buffer, at: offset)
        case .plain(let file): try file.read(into: buffer, at: offset)
        }
    }
}
