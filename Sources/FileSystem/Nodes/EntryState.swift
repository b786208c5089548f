import ChatCore
import Outbox

/// The state of an entry, with the values of `user.chatfs.state` (`docs/user/files.md`, "States").
public enum EntryState: String, Sendable, CaseIterable {
    case remote, receiving, stored, hydrated
    case draft, queued, sending, sent, delivered, unsure
    case expired, cancelled, blocked, failed
    /// Left unfinished by an earlier mount.
    case recovered
}

extension EntryState {
    init(_ state: DraftState) {
        switch state {
        case .draft: self = .draft
        case .queued: self = .queued
        // Handed over. The item, which takes over at once, tells whether the upload is complete.
        case .sending, .sent: self = .sending
        case .failed: self = .failed
        case .unsure: self = .unsure
        case .recovered: self = .recovered
        case .removed: self = .cancelled
        }
    }

    init(_ kind: FileProblem.Kind) {
        switch kind {
        case .expired, .neverUploaded: self = .expired
        case .cancelledBySender: self = .cancelled
        case .blocked: self = .blocked
        case .notApproved, .damaged, .unreachable, .timedOut, .noSpace, .relayFull, .tooLarge, .noRelay,
            .other:
            self = .failed
        }
    }
}
