import Base

/// Reads the URI from another program's thumbnail. Handles any bytes.
enum ThumbnailHead {
    /// Programs write texts before the pixels.
    static let length = 16 << 10

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let keyword = Array("Thumb::URI".utf8) + [0]

    /// Returns the value of the text `Thumb::URI` (tEXt), or nil if it is not in these first bytes. Does not read KDE's
    /// compressed texts (zTXt).
    static func uri(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.starts(with: signature) else { return nil }
        var rest = bytes[signature.count...]
        while rest.count >= 12 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let kind = rest.dropFirst(4).prefix(4)
            guard length <= rest.count - 12, !kind.elementsEqual("IDAT".utf8) else { return nil }
            let data = rest.dropFirst(8).prefix(length)
            if kind.elementsEqual("tEXt".utf8), data.starts(with: keyword) {
                return Array(data.dropFirst(keyword.count))
            }
            rest = rest.dropFirst(12 + length)
        }
        return nil
    }
}
