/// Sizes of the chat protocol, in bytes unless they say otherwise (facts of simplex-chat 6.4.5).
public enum ProtocolLimits {
    /// The versions of the chat protocol that this program speaks.
    public static let versions: ClosedRange<UInt16> = 1...16
    /// Longest id of a message or a member.
    static let idLength = 255
    /// Of one event that came, also in a batch or compressed: nothing larger can be written by anybody.
    static let inflated = 65_536
    /// Messages in one batch, and pieces of a compressed body.
    static let batch = 255
    /// Characters of a picture within a message, and within a profile.
    public static let preview = 14_000
    public static let profilePicture = 12_500
    /// Characters of a description in one message.
    public static let descriptionPart = 14_000
    /// The same where the post-quantum part takes some of the space.
    public static let shortDescriptionPart = 11_000
    /// Longest description of a file, and most parts of it. One of 1 GiB has some 30 KB.
    static let description = 1 << 20
    static let descriptionParts = 1000
    /// Names and what stands beside them: longer ones are cut. No system has files with longer ones, and with each byte
    /// escaped one still fits into any message.
    static let name = 1024
    /// Bytes of a link that people tell each other. One with post-quantum keys has some 3000.
    static let link = 8000
    /// Plain bytes of a chunk that travels within a message; only the last is shorter.
    public static let inlineChunk = 15_780
    /// Chunks of a file that is offered within messages, and of one that comes there without having been asked for.
    static let inlineChunks = 15
    static let unaskedInlineChunks = 8
    /// Files of one author that have begun to come unasked and are not here.
    static let unfinishedTransfers = 8

    /// Where something is said, which says how much of it there may be.
    public enum Capacity: Hashable, Sendable {
        /// A message of a connection.
        case message
        /// The same with keys of the post-quantum part beside it.
        case postQuantumMessage
        /// What is said with the first message of a connection, beside which its queue is named.
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
