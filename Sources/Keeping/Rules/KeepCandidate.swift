import Base
import ChatCore

/// A received file that is not local, as seen by the rules.
public struct KeepCandidate: Hashable, Sendable {
    public enum Phase: Hashable, Sendable {
        /// The sender's upload is incomplete.
        case announced
        /// It can be received.
        case offered
        /// The core is receiving it.
        case coming
        /// The core is retrying.
        case delayed
        /// Another machine has it: it does not expire, and is brought here.
        case elsewhere
    }

    public var item: ItemID
    public var file: FileID
    public var chat: ChatReference
    public var isMedia: Bool
    /// Plaintext size in bytes.
    public var size: UInt64
    public var expires: Timestamp
    public var phase: Phase

    public init(
        item: ItemID, file: FileID, chat: ChatReference, isMedia: Bool, size: UInt64, expires: Timestamp,
        phase: Phase
    ) {
        self.item = item
        self.file = file
        self.chat = chat
        self.isMedia = isMedia
        self.size = size
        self.expires = expires
        self.phase = phase
    }

    /// The expiry of files that do not expire: the end of the year 9998.
    static let never = Timestamp(seconds: 253_370_764_799)

    /// Returns nil for files that are sent, local, or lost.
    public init?(_ item: ChatItem) {
        guard item.direction == .received, let file = item.file,
            let expires = file.isElsewhere ? Self.never : file.expires
        else { return nil }
        let phase: Phase
        switch file.status {
        case .rcvInvitation(described: false): phase = .announced
        case .rcvInvitation, .rcvAborted: phase = .offered
        case .rcvAccepted, .rcvTransfer: phase = .coming
        case .rcvWarning: phase = .delayed
        case .rcvComplete where file.isElsewhere: phase = .elsewhere
        case .rcvError(let problem):
            guard !problem.isFinal else { return nil }
            phase = .offered
        default: return nil
        }
        let isMedia =
            switch item.content.kind {
            case .image, .video, .voice: true
            case .text, .file: false
            }
        self.init(
            item: item.id, file: file.id, chat: item.chat, isMedia: isMedia, size: file.size,
            expires: expires, phase: phase)
    }

    /// Sort key: order of expiry.
    public var position: ExpiryPosition { ExpiryPosition(expires, item) }
}
