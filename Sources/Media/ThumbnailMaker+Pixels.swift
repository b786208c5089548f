extension ThumbnailMaker {
    /// - Parameters:
    ///   - preview: as it came with a message: a data URI.
    ///   - side: pixels of the longer side, at most.
    /// - Returns: nil when the preview is none or cannot be decoded. Takes some ten milliseconds, at most the timeout;
    ///   never blocks its thread.
    public func pixels(ofPreview preview: String, side: Int) async -> PreviewPixels? {
        guard let preview = DataURI(preview) else { return nil }
        let outcome = await pictures.decode(
            preview.format, into: .pixels(side: side), size: UInt64(preview.bytes.count),
            maxBytes: 4 + 3 * side * side
        ) { offset, count in
            Array(preview.bytes.dropFirst(Int(clamping: offset)).prefix(count))
        }
        guard case .preview(let bytes) = outcome else { return nil }
        return PreviewPixels(bytes, side: side)
    }
}
