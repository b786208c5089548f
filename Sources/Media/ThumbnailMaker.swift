import Base

/// Makes the thumbnails that file managers expect (Thumbnail Managing Standard, freedesktop.org) from the previews in
/// messages. Separate confined processes decode them (`PictureProcess`), and only the pixels of their output are used
/// (`PNGFile`).
public struct ThumbnailMaker: Sendable {
    let pictures: PictureDecoder

    /// In bytes. A thumbnail of 1024 pixels is never larger.
    private static let maxBytes = 8 << 20
    /// Separate from the previews of sent files, for which senders wait.
    private static let places = AsyncSemaphore(2)

    /// - Parameters:
    ///   - program: A path of `chatfs` itself.
    ///   - timeout: The maximum time for one thumbnail on a busy machine.
    public init(program: String = "/proc/self/exe", timeout: Duration = .seconds(30)) {
        pictures = PictureDecoder(program: program, timeout: timeout, places: Self.places)
    }

    /// Returns a PNG, or nil if the preview is invalid or cannot be decoded. Takes about 10 ms up to the timeout; never
    /// blocks its thread.
    /// - Parameters:
    ///   - preview: The data URI in the message.
    ///   - side: The longer side in pixels.
    ///   - uri: The URI of the file, in the requesting program's spelling.
    ///   - modified: The modification time of the file, in seconds since 1970.
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

    /// Returns whether the decoder is installed and can be confined.
    public func isAvailable() async -> Bool { await pictures.canDecode(.jpeg) }
}
