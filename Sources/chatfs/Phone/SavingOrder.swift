import Base
import ChatCore
import Keeping

/// A file of a phone and its place in the folder of decrypted files.
struct SavedFile: Hashable, Sendable {
    var item: ChatItem
    /// The name of the chat's folder.
    var folder: String
    /// The title of the chat.
    var title: String

    var id: FileID? { item.file?.id }
    var size: UInt64 { item.file?.size ?? 0 }
    var path: String { "\(folder)/\(item.file?.name ?? "")" }
}

/// Decides which file `chatfs phone save` receives or writes next. A pure value; `PhoneSave` performs the steps.
///
/// The phone receives a few files at a time, those that relays drop first in front. Meanwhile the files that it already
/// has are written.
struct SavingOrder {
    enum Step: Hashable {
        /// Have the phone receive the file.
        case receive(SavedFile)
        case write(SavedFile)
        /// Wait until the phone has received a file.
        case wait
        case end
    }

    private struct Receiving {
        var file: SavedFile
        var status: FileStatus?
        var end: ContinuousClock.Instant
    }

    static let maxReceiving = 4
    /// Maximum time without progress of a file that the phone receives.
    static let timeout = Duration.seconds(180)

    /// The next one last.
    private var offered: [SavedFile] = []
    /// The next one last.
    private var present: [SavedFile] = []
    private var received: [SavedFile] = []
    private var receiving: [FileID: Receiving] = [:]
    /// Files that cannot be saved now, with a sentence that tells why.
    private(set) var absent: [(file: SavedFile, reason: String)] = []

    /// - Parameters:
    ///   - files: Those that are not saved yet.
    ///   - limit: Maximum size of a file that the phone receives for this; 0 to receive nothing.
    init(_ files: [SavedFile], limit: UInt64, now: Timestamp) {
        for file in files {
            guard let told = file.item.file else { continue }
            if told.status.isReadable {
                present.append(file)
            } else if let reason = Self.reasonAgainst(told, limit: limit, now: now) {
                absent.append((file, reason))
            } else {
                offered.append(file)
            }
        }
        present.reverse()
        offered.sort { Self.key($0) > Self.key($1) }
    }

    private static func key(_ file: SavedFile) -> ExpiryPosition {
        ExpiryPosition(file.item.file?.expires ?? file.item.time, file.item.id)
    }

    /// Returns nil if the phone may receive the file.
    private static func reasonAgainst(_ file: ChatFile, limit: UInt64, now: Timestamp) -> String? {
        switch file.status {
        case .rcvCancelled: return "Its sender cancelled it."
        case .rcvError(let problem) where problem.isFinal: return problem.sentence
        case .rcvInvitation(described: false): return "Its sender has not uploaded it yet."
        // The phone is receiving it already.
        case .rcvAccepted, .rcvTransfer, .rcvWarning: return nil
        default: break
        }
        if let expires = file.expires, expires.advanced(by: KeepTimes.grace) <= now {
            return "It was never received on the phone, and relays have dropped it."
        }
        guard limit > 0 else {
            return "It is not on the phone, and --policy phone-only has it receive nothing."
        }
        return file.size <= limit ? nil : "It is not on the phone, and is larger than --receive-limit."
    }

    /// Number and size of the files that the phone is to receive.
    var demand: (files: Int, bytes: UInt64) { (offered.count, offered.map(\.size).saturatingSum) }

    /// Size of all files that are to be written.
    var total: UInt64 { (offered + present).map(\.size).saturatingSum }

    mutating func next(now: ContinuousClock.Instant) -> Step {
        if receiving.count < Self.maxReceiving, let file = offered.popLast(), let id = file.id {
            receiving[id] = Receiving(file: file, status: nil, end: now + Self.timeout)
            return .receive(file)
        }
        if !received.isEmpty { return .write(received.removeFirst()) }
        if let file = present.popLast() { return .write(file) }
        return receiving.isEmpty ? .end : .wait
    }

    /// Files that the phone receives.
    var awaited: [FileID] { Array(receiving.keys) }

    /// Notes the state of an awaited file; nil if its message is gone.
    mutating func note(_ item: ChatItem?, of id: FileID, now: ContinuousClock.Instant) {
        guard var awaited = receiving[id] else { return }
        guard let item, let status = item.file?.status else {
            return refuse(id, "Its message was deleted.")
        }
        switch status {
        case _ where status.isReadable:
            receiving[id] = nil
            awaited.file.item = item
            return received.append(awaited.file)
        case .rcvError(let problem), .rcvAborted(let problem): return refuse(id, problem.sentence)
        case .rcvCancelled: return refuse(id, "Its sender cancelled it.")
        default: break
        }
        if awaited.status != status {
            (awaited.status, awaited.end) = (status, now + Self.timeout)
            receiving[id] = awaited
        } else if awaited.end <= now {
            refuse(id, "The phone has not received it yet, and continues by itself; run this again later.")
        }
    }

    /// The phone does not receive an awaited file.
    mutating func refuse(_ id: FileID, _ reason: String) {
        guard let refused = receiving.removeValue(forKey: id) else { return }
        absent.append((refused.file, reason))
    }
}
