/// Makes the thumbnails that file managers look for (Thumbnail Managing Standard, freedesktop.org) of the previews
/// that messages carry. They are decoded by processes of their own, which may do nothing else (`PictureProcess`); of
/// what these write only the pixels are taken (`PNGFile`).
public struct ThumbnailMaker: Sendable {
    let pictures: PictureDecoder

    /// Larger ones do not come of 1024 pixels.
    private static let maxBytes = 8 << 20
    /// Beside those that make previews of what is sent, which are waited for by others.
    private static let places = Places(2)

    /// - Parameters:
    ///   - program: a path of `chatfs` itself.
    ///   - timeout: how long one may take on a busy machine.
    public init(program: String = "/proc/self/exe", timeout: Duration = .seconds(30)) {
        pictures = PictureDecoder(program: program, timeout: timeout, places: Self.places)
    }

    /// - Parameters:
    ///   - preview: as it came: a data URI.
    ///   - side: pixels of the longer side.
    ///   - uri: of the file that is shown, as the program that asks writes it.
    ///   - modified: when that file was changed, in seconds since 1970.
    /// - Returns: PNG, or nil when the preview is none or cannot be decoded. Takes some ten milliseconds, at most the
    ///   timeout; never blocks its thread.
    public func thumbnail(preview: String, side: Int, uri: String, modified: Int64) async -> [UInt8]? {
        guard let preview = DataURI(preview) else { return nil }
        let outcome = await pictures.decode(
            preview.format, into: .thumbnail(side: side), size: UInt64(preview.bytes.count),
            maxBytes: Self.maxBytes
        ) { offset, count in
            Array(preview.bytes.dropFirst(Int(clamping: offset)).prefix(count))
        }
        guard case .preview(let bytes) = outcome, let png = PNGFile(bytes, side: side) else { return nil }
        return png.bytes(texts: [
            ("Thumb::URI", uri), ("Thumb::MTime", String(modified)), ("Software", "ChatFS"),
        ])
    }

    /// Whether what decodes is there and can be held to its limits.
    public func isAvailable() async -> Bool { await pictures.canDecode(.jpeg) }
}
