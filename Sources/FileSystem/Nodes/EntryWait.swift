import ChatCore
import Outbox

/// The reasons of entries that wait while nothing is wrong with them.
enum EntryWait {
    static func reason(of wait: DraftWait?) -> String? {
        switch wait {
        case .writer: "a program is still writing it"
        case .quietTime: "it is sent when it has rested for the quiet time and is encrypted"
        case .turn: "its turn comes after the earlier files of its chat"
        case .core: "it is being handed over"
        case nil: nil
        }
    }

    static let ofPastedFolder = "it is sent as one archive when nothing in it changes any more"

    /// Returns nil once bytes have moved.
    static func reason(of file: ChatFile, progress: Int) -> String? {
        guard progress == 0 else { return nil }
        return switch file.status {
        case .sndStored, .sndTransfer:
            file.transport == .inline
                ? "no messaging server has accepted it yet" : "no relay has accepted a part yet"
        case .rcvInvitation(let isDescribed):
            isDescribed ? "no relay has answered yet" : "its sender has not finished uploading it"
        case .rcvAccepted, .rcvTransfer: "no relay has answered yet"
        case .sndWarning, .sndComplete, .sndCancelled, .sndError, .rcvAborted, .rcvWarning, .rcvComplete,
            .rcvCancelled, .rcvError:
            nil
        }
    }
}
