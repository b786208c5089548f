/// The picture formats that the SimpleX apps show. The raw value is GdkPixbuf's name.
enum PictureFormat: String, CaseIterable, Sendable {
    case jpeg
    case png
    case gif
    case webp

    /// The number of bytes at the start of a file that identify the format.
    static let bytesToTell = 16

    /// Recognises the format by the first bytes of a file.
    init?(start: [UInt8]) {
        func begins(_ mark: [UInt8], at place: Int = 0) -> Bool { start.dropFirst(place).starts(with: mark) }
        if begins([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if begins(Array("GIF87a".utf8)) || begins(Array("GIF89a".utf8)) {
            self = .gif
        } else if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) {
            self = .webp
        } else {
            return nil
        }
    }

    /// The IANA media type.
    var mediaType: String { "image/" + rawValue }
}

/// In pixels, both at least 1.
struct PictureSize: Equatable {
    var width: Int
    var height: Int

    /// Returns a proportional size with a longer side of at most `side`.
    func fitting(_ side: Int) -> PictureSize {
        let longer = max(width, height)
        guard longer > side else { return self }
        return PictureSize(width: max(1, width * side / longer), height: max(1, height * side / longer))
    }

    /// Returns a proportional size with a longer side of `side`, but at most `factor` times the original.
    func filling(_ side: Int, growing factor: Int) -> PictureSize {
        let longer = max(width, height)
        let wanted = min(side, longer * factor)
        return PictureSize(width: max(1, width * wanted / longer), height: max(1, height * wanted / longer))
    }
}
