import Base
import ChatCore

/// What the outbox keeps of a draft, but for its state: the columns of its row.
struct DraftRecord: Hashable, Sendable {
    var id: Int64 = 0
    var chat: ChatReference
    var name: [UInt8]
    /// Name of its file in the spool, and the key that seals it.
    var spool: String
    var key: [UInt8]
    /// The mark by which the core recognises a repeated send.
    var message: String
    /// Length of the plaintext in bytes.
    var size: UInt64 = 0
    /// What the writer set, else the time of the last write.
    var modified: Timestamp
    var caption: String = ""
    /// Why something is missing in it; nil when nothing is.
    var gap: Gap?
    /// Why it may be unfinished, as far as that was decided; what lacks something has a gap.
    var hold: HoldReason?
    /// The user has asked for it as it is: nothing holds it back until it is written again.
    var isWanted = false
    /// Its spool file has been synchronised since its last write.
    var isDurable = false
    /// The boot of the machine in which it was closed.
    var boot: String = ""
    /// When it was last closed or renamed, in seconds of `Uptime`; what stays local goes some time after.
    var touched: Int64
    /// Counts last closes: in this order the drafts of a chat are sent.
    var sequence: Int64 = 0
    /// Why it is not sent, for its user.
    var problem: String?

    /// Why something is missing in a draft. Numbers of the column `broken`.
    enum Gap: Int64, CaseIterable, Sendable {
        /// A write failed.
        case failedWrite = 1
        /// Who wrote it was killed.
        case killedWriter = 2
    }

    /// The name that the recipients see.
    var sentName: String {
        SafeFileName.make(from: String(decoding: name, as: UTF8.self)) ?? "file-\(id)"
    }

    /// It is a part of a folder, or the archive that is being made of one.
    var isPart: Bool { PartPath.matches(name) }

    /// What its user is told of that: of a part that lacks nothing its folder has it.
    var problemOfStaying: String? { isPart && gap == nil && hold == nil ? nil : reasonToStay }

    /// Why it lies among what is recovered, once it was left alone.
    var problemOnceRecovered: String? {
        guard gap == nil, hold == nil, !isPart else { return problem }
        return
            "This file had a name of temporary files and was left alone in its chat, so it moved here, where it "
            + "stays until you remove it. Use chatfs retry to send it."
    }

    /// It would be sent if it were known to be finished.
    var isHeld: Bool { gap == .killedWriter || hold != nil && reasonByItself == nil }

    /// It is worth a word on the desktop: not what a program keeps for itself.
    var isWorthTelling: Bool {
        isHeld && hold?.isOfProgramsOwnFile != true && !TemporaryName.matches(name) && !isPart
    }

    /// Its user may ask for it as it is.
    var canBeWanted: Bool { gap != .failedWrite && (isHeld || isLocalByName && size > 0) }

    private var isLocalByName: Bool { !isWanted && !isPart && TemporaryName.matches(name) }

    /// Why it is not sent by itself once it is closed, nil when it is.
    var reasonToStay: String? { reasonByItself ?? hold?.sentence }

    /// The same without what is known of its writers.
    var reasonByItself: String? {
        switch gap {
        case .failedWrite:
            return "A write into this file failed, so it is incomplete and not sent: write it again."
        case .killedWriter:
            return "The program that wrote this file was killed, so it may be incomplete and is not sent: "
                + "write it again, or use chatfs retry to send it as it is."
        case nil: break
        }
        if isPart { return hold?.sentence ?? "This file goes with the folder that it is in, as one archive." }
        if isLocalByName {
            return "This name looks like a temporary file, so it stays here and is not sent. "
                + "Rename it, or use chatfs retry, to send it."
        }
        if size == 0 {
            return "An empty file is not sent by itself: write something into it or use chatfs send."
        }
        return nil
    }
}
