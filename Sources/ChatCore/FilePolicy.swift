import Base

/// Sizes and kinds that the SimpleX apps agree on (`docs/semantics.md`), in bytes.
public enum FilePolicy {
    /// Largest file that travels inside the message, and the target of image compression.
    public static let inlineLimit: UInt64 = 261_120
    public static let autoReceiveImage: UInt64 = 522_240
    public static let autoReceiveVoice: UInt64 = 522_240
    public static let autoReceiveVideo: UInt64 = 1_047_552
    /// Largest file over XFTP in a chat.
    public static let xftpLimit: UInt64 = 1_073_741_824
    /// Largest file over XFTP without a chat.
    public static let standaloneLimit: UInt64 = 5 << 30
    public static let smpLimit: UInt64 = 8_000_000
    /// Relays keep a file that long, counted from the moment at which its upload began (default of the official relay,
    /// which rounds that moment down to the full hour). Nothing in a message says what its relays really do.
    public static let relayRetention = Duration.seconds(48 * 3600)
    /// Bytes of the disk that are left free by whatever nobody asked for.
    public static let minimumFree: UInt64 = 256 << 20
    public static let maxVoiceSeconds = 300
    public static let maxPreviewCharacters = 14_000

    /// Whether a file is received at arrival without being asked for.
    public static func receivesAtArrival(_ content: MessageContent, size: UInt64) -> Bool {
        switch content.kind {
        case .image: size <= autoReceiveImage
        case .voice: size <= autoReceiveVoice
        case .video: size <= autoReceiveVideo
        case .text, .file: false
        }
    }
}

extension FileProblem {
    /// For a file that says it is larger than any that can be sent.
    public static let tooLargeToReceive = FileProblem(
        .tooLarge,
        "The file is larger than \(ByteCount.rounded(FilePolicy.standaloneLimit)), more than can be sent.")
}
