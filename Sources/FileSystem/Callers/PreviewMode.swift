/// The source of file managers' thumbnails for files that are not on this machine (`--previews`).
public enum PreviewMode: String, CaseIterable, Sendable {
    /// The message's preview. It is offered to the desktop's thumbnail cache; thumbnailers fetch nothing.
    case message
    /// The file itself. Thumbnailers may fetch it.
    case fetch
    /// None. No preview is offered, and thumbnailers fetch nothing.
    case none

    /// True if message previews are offered to the desktop.
    public var offersThoseOfMessages: Bool { self == .message }
    /// True if thumbnailers may fetch files.
    public var mayFetch: Bool { self == .fetch }
}
