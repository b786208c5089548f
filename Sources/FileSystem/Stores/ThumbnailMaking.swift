/// Renders thumbnails of previews, in confined processes or in tests.
public protocol ThumbnailMaking: Sendable {
    /// Renders one thumbnail.
    /// - Parameters:
    ///   - preview: The preview of a message, as a data URI.
    ///   - side: Maximum length of the longer side in pixels.
    ///   - uri: URI of the entry.
    ///   - modified: Modification time of the entry in seconds since 1970.
    /// - Returns: PNG with `uri` and `modified` as texts; nil if the preview cannot be decoded.
    func thumbnail(preview: String, side: Int, uri: String, modified: Int64) async -> [UInt8]?

    /// Returns true if thumbnails can be rendered here.
    func isAvailable() async -> Bool
}
