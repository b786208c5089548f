/// Where file managers get their pictures of files from that are not here (`--previews`).
public enum PreviewMode: String, CaseIterable, Sendable {
    /// From the message: its preview is offered to the desktop's thumbnail cache, and thumbnailers fetch nothing.
    case message
    /// From the file: thumbnailers may fetch it.
    case fetch
    /// From nowhere: nothing is offered, and thumbnailers fetch nothing.
    case none

    /// Whether a preview that came with a message is offered to the desktop.
    public var offersThoseOfMessages: Bool { self == .message }
    /// Whether a program that makes previews may have a file fetched.
    public var mayFetch: Bool { self == .fetch }
}
