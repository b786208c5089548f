import ChatCore
import ChatProtocol
import Store

/// Enumerations stored in columns. `Row.value` reports any other word as damage.

enum StoredChatKind: String, SQLBindable, CaseIterable {
    case direct
    case group
    case notes

    /// Returns the columns of a chat.
    static func columns(of chat: ChatReference) -> (kind: Self, id: Int64) {
        switch chat {
        case .direct(let id): (.direct, id)
        case .group(let id): (.group, id)
        case .notes(let id): (.notes, id)
        // Stored elsewhere (`Links`): no chat has id 0.
        case .links: (.notes, 0)
        }
    }

    func reference(_ id: Int64) -> ChatReference {
        switch self {
        case .direct: .direct(id)
        case .group: .group(id)
        case .notes: .notes(id)
        }
    }
}

/// Why a chat has ended. Its contents stay.
enum StoredChatEnding: String, SQLBindable, CaseIterable {
    case left
    case contactLeft = "contact_left"
    case contactDeleted = "contact_deleted"
    case removed
    case groupDeleted = "group_deleted"
    case refused
    case notConnected = "not_connected"

    var sentence: String {
        switch self {
        case .left: "You have left this chat."
        case .contactLeft: "The contact has left this chat."
        case .contactDeleted: "The contact does not exist any more."
        case .removed: "You were removed from this group."
        case .groupDeleted: "Its owner has deleted this group."
        case .refused: "The group did not let you in."
        case .notConnected: "The connection with this contact could not be made: connect with a new link."
        }
    }
}

extension ContactVerification: SQLBindable {}
extension GroupConversation.Membership: SQLBindable {}
extension GroupMember.Status: SQLBindable {}

/// State of a key agreement with a contact.
enum StoredKeys: String, SQLBindable, CaseIterable {
    /// One side has started or must start.
    case awaited
    /// Both sides have sent keys; no message has proven them.
    case agreed
}

/// Why sending to a chat is impossible now.
enum StoredChatRefusal: String, SQLBindable, CaseIterable {
    case waiting
    case reader
    case noFiles = "no_files"
    case nobody

    func sentence(in kind: StoredChatKind) -> String {
        switch self {
        case .waiting: "The members of this group have to let you in first."
        case .reader: "Your role in this group only lets you read."
        case .noFiles: "This group does not allow you to send files."
        case .nobody where kind == .direct:
            "The contact's messaging server takes nothing for them any more: connect with a new link."
        case .nobody: "No member of this group can be reached at present."
        }
    }
}

enum StoredMemberRole: String, SQLBindable, CaseIterable {
    case owner
    case member
}

enum StoredFileStatus: String, SQLBindable, CaseIterable {
    case sndStored = "snd_stored"
    case sndTransfer = "snd_transfer"
    case sndComplete = "snd_complete"
    case sndCancelled = "snd_cancelled"
    case sndError = "snd_error"
    case sndWarning = "snd_warning"
    case rcvInvitation = "rcv_invitation"
    case rcvAccepted = "rcv_accepted"
    case rcvTransfer = "rcv_transfer"
    case rcvAborted = "rcv_aborted"
    case rcvComplete = "rcv_complete"
    case rcvCancelled = "rcv_cancelled"
    case rcvError = "rcv_error"
    case rcvWarning = "rcv_warning"

    /// Running or pending uploads.
    static let uploading: [Self] = [.sndStored, .sndTransfer, .sndWarning]
    /// Running or pending downloads by the core.
    static let downloading: [Self] = [.rcvAccepted, .rcvTransfer, .rcvWarning]
    /// Offered, without a download.
    static let offered: [Self] = [.rcvInvitation, .rcvAborted]

    /// Formats a list for `status IN (…)`.
    static func list(_ statuses: [Self]) -> String {
        statuses.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }

    var isSent: Bool {
        switch self {
        case .sndStored, .sndTransfer, .sndComplete, .sndCancelled, .sndError, .sndWarning: true
        case .rcvInvitation, .rcvAccepted, .rcvTransfer, .rcvAborted, .rcvComplete, .rcvCancelled, .rcvError,
            .rcvWarning:
            false
        }
    }

    /// - Parameter problem: the row's problem, with an empty sentence if there is none.
    func status(_ progress: TransferProgress, _ problem: FileProblem, isDescribed: Bool) -> FileStatus {
        switch self {
        case .sndStored: .sndStored
        case .sndTransfer: .sndTransfer(sent: progress.done, total: progress.total)
        case .sndComplete: .sndComplete
        case .sndCancelled: .sndCancelled
        case .sndError: .sndError(problem)
        case .sndWarning: .sndWarning(problem)
        case .rcvInvitation: .rcvInvitation(described: isDescribed)
        case .rcvAccepted: .rcvAccepted
        case .rcvTransfer: .rcvTransfer(received: progress.done, total: progress.total)
        case .rcvAborted: .rcvAborted(problem.sentence.isEmpty ? .relaysNotApproved : problem)
        case .rcvComplete: .rcvComplete
        case .rcvCancelled: .rcvCancelled
        case .rcvError: .rcvError(problem)
        case .rcvWarning: .rcvWarning(problem)
        }
    }
}

/// Encrypted and padded bytes.
struct TransferProgress: Hashable, Sendable {
    var done: UInt64
    var total: UInt64
}

extension TransferProgress {
    /// Progress of a file that is not downloaded from relays.
    /// - Parameter transfer: inline transfer; nil if there is none.
    init(_ transfer: InlineTransfer?) {
        self.init(done: transfer?.bytes ?? 0, total: transfer?.size ?? 0)
    }
}

extension Row {
    /// Returns the problem of a file row.
    borrowing func problem() throws(StoreError) -> FileProblem {
        FileProblem(
            try valueOrNil("problem", as: FileProblem.Kind.self) ?? .other, text("problem_sentence"))
    }
}
