import Base
import Desktop
import FileSystem

// MARK: - Conversions for programs

extension ProgramChat {
    init(_ folder: FolderDescription) {
        let kind =
            switch folder.chat.reference {
            case .direct: "direct"
            case .group: "group"
            case .notes: "notes"
            case .links: "links"
            }
        self.init(
            chat: folder.chat.reference.description, kind: kind, folder: folder.name,
            name: folder.chat.displayName, updated: folder.chat.updatedAt.seconds,
            refused: folder.chat.sendingRefused)
    }
}

extension ProgramItem {
    init(_ entry: EntryDescription) {
        self.init(
            number: entry.id.rawValue, path: entry.path, name: entry.name, chat: entry.chat?.description,
            size: entry.size, modified: entry.modified.seconds, state: entry["state"] ?? "",
            progress: entry["progress"].flatMap { Int($0) } ?? 0)
        direction = entry["direction"]
        sender = entry["sender"]
        transport = entry["transport"]
        type = entry.attributes["user.mime_type"]
        caption = entry["caption"]
        link = entry["link"]
        expires = entry["expires"].flatMap { Int64($0) }
        pinned = entry["pinned"] == nil ? nil : true
        error = entry["error"]
        sha256 = entry.digest.map { Hexadecimal.encode($0) }
    }
}

extension ProgramStatus {
    init(_ status: MountStatus) {
        let counts = status.transfers.compactMap { transfer in
            EntryState(rawValue: transfer.state)?.count(hasProblem: transfer.error != nil)
        }
        let failed = counts.count { $0 == .failed }
        let pending = counts.count { $0 == .pending }
        self.init(
            connected: status.coreProblem == nil,
            synced: status.coreProblem == nil && pending == 0 && failed == 0,
            pending: pending, failed: failed, suspended: status.suspended != nil,
            lastError: status.coreProblem ?? status.transfers.lazy.compactMap(\.error).first)
    }
}

extension EntryState {
    fileprivate enum Count { case pending, failed }

    /// Returns the count of `ProgramStatus` that has the entry; nil for neither.
    fileprivate func count(hasProblem: Bool) -> Count? {
        switch self {
        // A draft with a problem is not sent automatically.
        case .draft: hasProblem ? .failed : .pending
        case .receiving, .queued, .sending: .pending
        case .failed, .unsure, .recovered: .failed
        // A remote entry waits for its user, such as for approval.
        case .remote, .stored, .hydrated, .sent, .delivered, .expired, .cancelled, .blocked: nil
        }
    }
}
