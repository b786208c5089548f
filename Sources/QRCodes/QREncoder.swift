import Base

/// libqrencode, loaded on first use. ChatFS works without it.
public struct QREncoder: @unchecked Sendable {
    // Safe: the functions are stateless, and their library is never unloaded.
    private typealias Encode =
        @convention(c) (Int32, UnsafePointer<UInt8>?, Int32, Int32) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// QR_ECLEVEL_L to QR_ECLEVEL_H.
    private static let levels: ClosedRange<Int32> = 0...3
    /// Of the largest code at the lowest level.
    private static let maxBytes = 2953

    private let encode: Encode
    private let free: Free

    /// The installed library, or nil.
    public static let installed = QREncoder(path: "libqrencode.so.4")

    /// The name of the package, for messages.
    public static let package = "libqrencode4"

    /// - Parameter path: The path of the library, which stays loaded.
    init?(path: String) {
        guard let library = SharedLibrary(path) else { return nil }
        do {
            encode = try library.function("QRcode_encodeData")
            free = try library.function("QRcode_free")
        } catch {
            return nil
        }
    }

    /// Returns the smallest code for a text, with the highest error correction for that size. Returns nil for an empty
    /// text or more than 2,953 bytes.
    public func code(of text: String) -> QRCode? {
        let bytes = Array(text.utf8)
        guard (1...Self.maxBytes).contains(bytes.count) else { return nil }
        let codes = Self.levels.compactMap { code(of: bytes, level: $0) }
        guard let least = codes.map(\.width).min() else { return nil }
        return codes.last { $0.width == least }
    }

    private func code(of bytes: [UInt8], level: Int32) -> QRCode? {
        // struct { int version; int width; unsigned char *data }, a byte for each module, its lowest bit dark.
        guard let code = encode(Int32(bytes.count), bytes, 0, level) else { return nil }
        defer { free(code) }
        let width = Int(code.load(fromByteOffset: 4, as: Int32.self))
        guard (21...177).contains(width),
            let modules = code.load(fromByteOffset: 8, as: UnsafePointer<UInt8>?.self)
        else { return nil }
        return QRCode(width: width, isDark: (0..<width * width).map { modules[$0] & 1 == 1 })
    }
}
