import ChatCore

extension ChatEvent {
    /// The event as the chat API names it; `fileProgress` and `FileComplete` in both directions and for all transports.
    public var name: String {
        guard case .itemChanged(let item, let cause) = self else {
            // The name of the event's case.
            return String("\(self)".prefix { $0 != "(" })
        }
        let isUpload =
            switch item.file?.status {
            case .sndStored, .sndTransfer, .sndComplete, .sndCancelled, .sndError, .sndWarning: true
            default: false
            }
        let side = isUpload ? "snd" : "rcv"
        return switch cause {
        case .updated: "chatItemUpdated"
        case .described: "rcvFileDescrReady"
        case .accepted: "rcvFileAccepted"
        case .started: side + "FileStart"
        case .completed: side + "FileComplete"
        case .cancelledByPeer: isUpload ? "sndFileRcvCancelled" : "rcvFileSndCancelled"
        case .failed: side + "FileError"
        case .delayed: side + "FileWarning"
        }
    }
}
