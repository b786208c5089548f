/// Media type by file name. Decides how an item is sent and the extension of a name without one; never how a
/// program may use the contents.
public struct MediaType: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case image
        case video
        case audio
        case other
    }

    /// IANA name, for example `image/jpeg`; value of `user.mime_type`.
    public let name: String

    public init(_ name: String) { self.name = name }

    public static let unknown = MediaType("application/octet-stream")

    public var kind: Kind {
        if name.hasPrefix("image/") { return .image }
        if name.hasPrefix("video/") { return .video }
        if name.hasPrefix("audio/") { return .audio }
        return .other
    }

    /// Looks up a file name's extension. `unknown` without a known one.
    public init(fileName: some StringProtocol) {
        let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
        let last = parts.count > 1 ? parts[parts.count - 1].lowercased() : ""
        self = Self.byExtension[last].map(MediaType.init) ?? .unknown
    }

    private static let byExtension: [String: String] = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "jpe": "image/jpeg", "jfif": "image/jpeg",
        "pjpeg": "image/jpeg", "png": "image/png", "gif": "image/gif",
        "webp": "image/webp", "heic": "image/heic", "heif": "image/heif", "avif": "image/avif",
        "bmp": "image/bmp", "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mkv": "video/x-matroska", "avi": "video/x-msvideo", "3gp": "video/3gpp", "ogv": "video/ogg",
        "m4a": "audio/mp4", "mp3": "audio/mpeg", "aac": "audio/aac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/x-wav",
        "txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html",
        "htm": "text/html", "css": "text/css", "xml": "application/xml", "json": "application/json",
        "yaml": "application/yaml", "yml": "application/yaml", "pdf": "application/pdf",
        "zip": "application/zip", "gz": "application/gzip", "xz": "application/x-xz",
        "zst": "application/zstd", "bz2": "application/x-bzip2", "tar": "application/x-tar",
        "7z": "application/x-7z-compressed", "rar": "application/vnd.rar", "epub": "application/epub+zip",
        "doc": "application/msword", "xls": "application/vnd.ms-excel",
        "ppt": "application/vnd.ms-powerpoint",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt": "application/vnd.oasis.opendocument.text",
        "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "apk": "application/vnd.android.package-archive", "deb": "application/vnd.debian.binary-package",
        "iso": "application/x-iso9660-image", "sh": "application/x-shellscript",
    ]
}
