import ChatCore
import ChatProtocol
import Store

/// What a column may hold. Read through `Row.value`, so any other word is reported as damage.

enum StoredChatKind: String, SQLBindable, CaseIterable {
    case direct
    case group
    case notes

    /// The kind of a chat and its number.
    static func columns(of chat: ChatReference) -> (kind: Self, id: Int64) {
        switch chat {
        case .direct(let id): (.direct, id)
        case .group(let id): (.group, id)
        case .notes(let id): (.notes, id)
        // Kept above this core (`Links`): no chat of it has this number.
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

/// Why nothing can be sent into a chat any more; what it holds stays.
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

/// Which new keys a contact and this profile do not have yet.
enum StoredKeys: String, SQLBindable, CaseIterable {
    /// One of both has begun, or has to.
    case awaited
    /// Both have given theirs, and no message has proven them.
    case agreed
}

/// Why nothing can be sent into a chat at present.
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

enum StoredDirection: String, SQLBindable, CaseIterable {
    case sent
    case received

    var direction: ChatItem.Direction { self == .sent ? .sent : .received }
}

enum StoredContentKind: String, SQLBindable, CaseIterable {
    case text
    case file
    case image
    case video
    case voice

    static func columns(of kind: MessageContent.Kind) -> (kind: Self, preview: String, seconds: Int) {
        switch kind {
        case .text: (.text, "", 0)
        case .file: (.file, "", 0)
        case .image(let preview): (.image, preview, 0)
        case .video(let preview, let seconds): (.video, preview, seconds)
        case .voice(let seconds): (.voice, "", seconds)
        }
    }

    func kind(preview: String, seconds: Int) -> MessageContent.Kind {
        switch self {
        case .text: .text
        case .file: .file
        case .image: .image(preview: preview)
        case .video: .video(preview: preview, seconds: seconds)
        case .voice: .voice(seconds: seconds)
        }
    }
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

    /// An upload that is going on, or will.
    static let uploading: [Self] = [.sndStored, .sndTransfer, .sndWarning]
    /// A download by the core that is going on, or will.
    static let downloading: [Self] = [.rcvAccepted, .rcvTransfer, .rcvWarning]
    /// Offered, and nobody receives it.
    static let offered: [Self] = [.rcvInvitation, .rcvAborted]

    /// For `status IN (…)`.
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

    /// - Parameter problem: what the row says of it; a row that says nothing has an empty sentence.
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

/// Bytes as they travel, encrypted and padded.
struct TransferProgress: Hashable, Sendable {
    var done: UInt64
    var total: UInt64
}

extension TransferProgress {
    /// Of a file that nobody fetches from a relay.
    /// - Parameter transfer: nil where it does not come within messages either.
    init(_ transfer: InlineTransfer?) {
        self.init(done: transfer?.bytes ?? 0, total: transfer?.size ?? 0)
    }
}

extension Row {
    /// What went wrong with a file, from the columns `problem` and `problem_sentence`.
    borrowing func problem() throws(StoreError) -> FileProblem {
        FileProblem(
            try valueOrNil("problem", as: FileProblem.Kind.self) ?? .other, text("problem_sentence"))
    }
}
