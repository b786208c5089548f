import Base

/// A picture that came inside a message: `data:image/jpg;base64,…`, as the SimpleX apps write it.
struct DataURI {
    let format: PictureFormat
    let bytes: [UInt8]

    /// Messages carry 14,000 characters at most (`FilePolicy.maxPreviewCharacters`); others may have other limits.
    private static let maxCharacters = 65_536
    private static let kinds = [
        "data:image/jpg;base64,", "data:image/jpeg;base64,", "data:image/png;base64,",
    ]

    /// Nil when it is none of a JPEG or a PNG, whatever it says of itself.
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
