import Base

/// File sizes and kinds shared by the SimpleX apps (`docs/user/sending.md`), in bytes.
public enum FilePolicy {
    /// Largest file inside a message, and target size of image compression.
    public static let inlineLimit: UInt64 = 261_120
    public static let autoReceiveImage: UInt64 = 522_240
    public static let autoReceiveVoice: UInt64 = 522_240
    public static let autoReceiveVideo: UInt64 = 1_047_552
    /// Largest file over XFTP in a chat.
    public static let xftpLimit: UInt64 = 1_073_741_824
    /// Largest standalone file over XFTP.
    public static let standaloneLimit: UInt64 = 5 << 30
    /// Retention of relays, counted from the start of the upload (default of the official relay, rounded down
    /// to the full hour). Messages do not state the real value.
    public static let relayRetention = Duration.seconds(48 * 3600)
    /// Disk space in bytes that automatic downloads leave free.
    public static let minimumFree: UInt64 = 256 << 20
    public static let maxVoiceSeconds = 300
    public static let maxPreviewCharacters = 14_000

    /// Returns whether a file may be received automatically.
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
    /// For a file with an announced size beyond any permitted one.
    public static let tooLargeToReceive = FileProblem(
        .tooLarge,
        "The file is larger than \(ByteCount.rounded(FilePolicy.standaloneLimit)), more than can be sent.")
}
