import ChatCore

/// Recognises the pictures that the SimpleX apps show by their content.
public enum PictureType {
    /// - Parameter start: At least the first 16 bytes, if the file has them.
    /// - Returns: nil for any other file.
    @Sendable public static func type(start: [UInt8]) -> MediaType? {
        PictureFormat(start: start).map { MediaType($0.mediaType) }
    }
}
