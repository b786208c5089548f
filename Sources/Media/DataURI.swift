import Base

/// A picture inside a message: `data:image/jpg;base64,…`, as the SimpleX apps write it.
struct DataURI {
    let format: PictureFormat
    let bytes: [UInt8]

    /// Messages carry at most 14,000 characters (`FilePolicy.maxPreviewCharacters`); other programs may have other
    /// limits.
    private static let maxCharacters = 65_536
    private static let kinds = [
        "data:image/jpg;base64,", "data:image/jpeg;base64,", "data:image/png;base64,",
    ]

    /// Returns nil unless the content itself is a JPEG or PNG.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maxCharacters, let kind = Self.kinds.first(where: text.hasPrefix),
            let bytes = Base64.decode(text.dropFirst(kind.count)),
            let format = PictureFormat(start: Array(bytes.prefix(PictureFormat.bytesToTell))),
            format == .jpeg || format == .png
        else { return nil }
        self.format = format
        self.bytes = bytes
    }
}
