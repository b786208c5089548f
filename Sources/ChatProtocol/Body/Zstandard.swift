import Base

/// Compresses messages that would not fit, and inflates received ones, with the Zstandard library (RFC 8878). It is
/// loaded on first use. Every Debian system has it, as dpkg depends on it.
public struct Zstandard: @unchecked Sendable {
    // Safe: the library is never unloaded, and these functions keep no state.
    private typealias Convert =
        @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int) -> Int
    private typealias Compress =
        @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, Int32) -> Int
    private typealias Bound = @convention(c) (Int) -> Int
    private typealias IsError = @convention(c) (Int) -> UInt32
    private typealias ContentSize = @convention(c) (UnsafeRawPointer?, Int) -> UInt64
    private typealias FrameSize = @convention(c) (UnsafeRawPointer?, Int) -> Int

    /// As in official apps.
    private static let level: Int32 = 3

    private let compress: Compress
    private let decompress: Convert
    private let bound: Bound
    private let isError: IsError
    private let contentSize: ContentSize
    private let frameSize: FrameSize

    /// The library; nil if it is not installed.
    public static let installed = Zstandard(path: "libzstd.so.1")

    /// - Parameter path: path of the library, which stays loaded.
    init?(path: String) {
        guard let library = SharedLibrary(path) else { return nil }
        do {
            self.compress = try library.function("ZSTD_compress")
            decompress = try library.function("ZSTD_decompress")
            bound = try library.function("ZSTD_compressBound")
            isError = try library.function("ZSTD_isError")
            contentSize = try library.function("ZSTD_getFrameContentSize")
            frameSize = try library.function("ZSTD_findFrameCompressedSize")
        } catch {
            return nil
        }
    }

    /// Returns one frame with its content size; nil on failure.
    public func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var frame = [UInt8](repeating: 0, count: bound(bytes.count))
        let written = frame.withUnsafeMutableBytes { frame in
            bytes.withUnsafeBytes {
                compress(frame.baseAddress, frame.count, $0.baseAddress, $0.count, Self.level)
            }
        }
        guard isError(written) == 0 else { return nil }
        frame.removeLast(frame.count - written)
        return frame
    }

    /// Returns a frame's content; nil for an invalid frame, one without its content size, or more than `limit` bytes.
    public func inflate(_ frame: [UInt8], limit: Int) -> [UInt8]? {
        frame.withUnsafeBytes { frame in
            // An unknown size is reported as a number above every limit.
            let size = contentSize(frame.baseAddress, frame.count)
            // Otherwise concatenated frames would inflate beyond the size of the first.
            guard size <= UInt64(limit), frameSize(frame.baseAddress, frame.count) == frame.count else {
                return nil
            }
            var content = [UInt8](repeating: 0, count: Int(size))
            let written = content.withUnsafeMutableBytes {
                decompress($0.baseAddress, $0.count, frame.baseAddress, frame.count)
            }
            return isError(written) == 0 && written == content.count ? content : nil
        }
    }
}
