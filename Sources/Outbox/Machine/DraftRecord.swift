import Base
import ChatCore

/// The columns of a draft's row, except its state.
struct DraftRecord: Hashable, Sendable {
    var id: Int64 = 0
    var chat: ChatReference
    var name: [UInt8]
    /// Name of the spool file, and its sealing key.
    var spool: String
    var key: [UInt8]
    /// The message id by which the core recognises a repeated send.
    var message: String
    /// Length of the plaintext in bytes.
    var size: UInt64 = 0
    /// The time set by the writer, or of the last write.
    var modified: Timestamp
    var caption: String = ""
    /// The reason why bytes are missing; nil if complete.
    var gap: Gap?
    /// The decided reason why it may be unfinished. Missing bytes have a `gap` instead.
    var hold: HoldReason?
    /// The user wants it as it is; no hold applies until the next write.
    var isWanted = false
    /// The spool file was synchronised since its last write.
    var isDurable = false
    /// Boot id at the last close.
    var boot: String = ""
    /// `Uptime` in seconds at the last close or rename; local drafts expire some time after.
    var touched: Int64
    /// Number of the last close, the order of delivery in a chat.
    var sequence: Int64 = 0
    /// The reason for the user why it is not sent.
    var problem: String?

    /// The reason why bytes are missing. Values of the column `broken`.
    enum Gap: Int64, CaseIterable, Sendable {
        /// A write failed.
        case failedWrite = 1
        /// The writer was killed.
        case killedWriter = 2
    }

    /// True if no power cut can have damaged the spool file.
    func isTrusted(in boot: String) -> Bool { isDurable || self.boot == boot }

    /// The name for recipients.
    var sentName: String {
        SafeFileName.make(from: String(decoding: name, as: UTF8.self)) ?? "file-\(id)"
    }

    /// True for a part of a folder, and for a folder's archive while it is created.
    var isPart: Bool { PartPath.matches(name) }

    /// The reason to stay as the user sees it. A complete part has none; its folder has it.
    var problemOfStaying: String? { isPart && gap == nil && hold == nil ? nil : reasonToStay }

    /// The reason why an untouched draft is among the recovered files.
    var problemOnceRecovered: String? {
        guard gap == nil, hold == nil, !isPart else { return problem }
        return
            "This file had a name of temporary files and was left alone in its chat, so it moved here, where it "
            + "stays until you remove it. Use chatfs retry to send it."
    }

    /// True if it would be sent if it were known to be finished.
    var isHeld: Bool { gap == .killedWriter || hold != nil && reasonByItself == nil }

    /// True if the desktop should report it; false for a program's own files.
    var isWorthTelling: Bool {
        isHeld && hold?.isOfProgramsOwnFile != true && !TemporaryName.matches(name) && !isPart
    }

    /// True if the user may send it as it is.
    var canBeWanted: Bool { gap != .failedWrite && (isHeld || isLocalByName && size > 0) }

    private var isLocalByName: Bool { !isWanted && !isPart && TemporaryName.matches(name) }

    /// The reason why it is not sent automatically after its close; nil if it is sent.
    var reasonToStay: String? { reasonByItself ?? hold?.sentence }

    /// The reason without evidence about writers.
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
