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
            refused: folder.chat.sendingRefused, actions: folder.chat.actions.map(\.rawValue))
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
    init(_ status: SyncStatus, isSuspended: Bool) {
        let isReachable = status.coreProblem == nil
        self.init(
            connected: isReachable, synced: isReachable && status.pending == 0 && status.failed == 0,
            pending: status.pending, failed: status.failed, suspended: isSuspended,
            lastError: status.coreProblem ?? status.problem,
            // Suspended transfers and those of an unreachable core wait for its return.
            nextTry: isReachable && !isSuspended ? status.nextTry?.seconds : nil)
    }
}
