/// What makes thumbnails of previews: processes that may do nothing else, or a test.
public protocol ThumbnailMaking: Sendable {
    /// - Parameters:
    ///   - preview: as its message carries it, a data URI.
    ///   - side: pixels of the longer side.
    ///   - uri: of the entry that it shows.
    ///   - modified: when that was changed, in seconds since 1970.
    /// - Returns: PNG with both as texts; nil when none can be made of it.
    func thumbnail(preview: String, side: Int, uri: String, modified: Int64) async -> [UInt8]?

    /// Whether any can be made here.
    func isAvailable() async -> Bool
}
