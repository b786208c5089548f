/// Limits of the chat protocol, in bytes unless stated (facts of simplex-chat 6.4.5).
public enum ProtocolLimits {
    /// Chat protocol versions of this program.
    public static let versions: ClosedRange<UInt16> = 1...16
    /// Longest id of a message or member.
    static let idLength = 255
    /// Largest received event, also in a batch or inflated. No program writes larger ones.
    static let inflated = 65_536
    /// Messages per batch, and pieces per compressed body.
    static let batch = 255
    /// Characters of an image in a message, and in a profile.
    public static let preview = 14_000
    public static let profilePicture = 12_500
    /// Characters of a description part next to post-quantum keys.
    public static let shortDescriptionPart = 11_000
    /// Largest description and number of parts. One of 1 GiB has about 30 KB.
    static let description = 1 << 20
    static let descriptionParts = 1000
    /// Names and similar fields are cut to this. Longer file names exist on no system, and with every byte
    /// escaped one still fits into a message.
    static let name = 1024
    /// Longest link. One with post-quantum keys has about 3000 bytes.
    static let link = 8000
    /// Plaintext bytes of a chunk; only the last may be shorter.
    public static let inlineChunk = 15_780
    /// Chunks of a requested inline file, and of an unrequested one.
    static let inlineChunks = 15
    static let unaskedInlineChunks = 8
    /// Unfinished unrequested transfers per author.
    static let unfinishedTransfers = 8

    /// The place of a message, which limits its size.
    public enum Capacity: Hashable, Sendable {
        /// A message of a connection.
        case message
        /// A message next to post-quantum keys.
        case postQuantumMessage
        /// Connection information, next to the reply queue.
        case information
        case postQuantumInformation

        public var bytes: Int {
            switch self {
            case .message: 15_602
            case .postQuantumMessage: 13_380
            case .information: 14_300
            case .postQuantumInformation: 10_600
            }
        }
    }
}
