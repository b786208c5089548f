import Base
import ChatCore

/// Writes events of the core to the index and publishes the results.
struct EventIntake: Sendable {
    let index: IndexStore
    let recent: RecentEvents
    let descriptions: Descriptions
    let standaloneFiles: StandaloneFiles
    let arrivals: ArrivalRule
    /// True if the core may receive files for this process.
    let receives: Bool

    /// Writes an event to the index. Returns files to receive automatically, or again with ChatFS's
    /// approvals. Blocks.
    func take(_ kind: APIEvent.Kind) throws -> [FileID] { try index.commit { try apply(kind, $0) } }

    private func apply(_ kind: APIEvent.Kind, _ change: IndexChange) throws -> [FileID] {
        switch kind {
        case .newChatItems(let items): return try takeNew(items, change)
        case .chatItemUpdated(let item): return try takeUpdated(item, change)
        case .chatItemsDeleted(let deletions):
            recent.note(deletions.map(\.item.id))
            let (kept, gone) = (
                deletions.compactMap(\.kept), deletions.filter { $0.kept == nil }
            )
            for item in kept { try change.take(item, .look, .updated) }
            for (reason, deletions) in Dictionary(grouping: gone, by: \.reason) {
                try change.remove(deletions.map(\.item.id), reason)
            }
            change.tellTextsGone(deletions.map(\.item).filter { $0.file == nil }.map(Self.text))
        case .groupChatItemsDeleted(let group, let items):
            recent.note(items)
            let texts = try items.filter { try change.tables.items.item($0) == nil }
            try change.remove(items, .moderated)
            change.tellTextsGone(texts.map { TextReference($0, in: .group(group)) })
        case .chatUpdated(let info):
            recent.note(info.reference.chat)
            try change.take(info)
        case .requestsChanged(let info):
            if let info {
                recent.note(info.reference.chat)
                try change.take(info)
            }
            change.tell(.requestsChanged)
        case .chatRemoved(let chat):
            recent.note(chat)
            try change.removeChat(chat)
        case .errors(let errors):
            for error in errors {
                log.information("core reported an error: error=\(error.chatError.sentence)")
            }
            // The file was accepted before its description came, which names relays unknown to the core.
            return try errors.compactMap(\.refusedFile).filter { try change.tables.items.item(of: $0) != nil }
        case .rcvFileCancelled(_, nil), .sndFileCancelled(_, nil), .chatSuspended, .other: break
        default:
            if try !applyTransfer(kind, change) {
                try applyProgress(kind, change)
                recent.note(change.touched)
            }
        }
        return []
    }

    private func takeNew(_ items: [APIItem], _ change: IndexChange) throws -> [FileID] {
        recent.note(items.map(\.id))
        var wanted: [FileID] = []
        for item in items {
            try change.take(item.chat)
            guard let shown = try change.take(item, .arrival), let file = shown.file else {
                change.tellText(item)
                continue
            }
            if case .rcvInvitation = file.status, shown.direction == .received, receives,
                arrivals.receives(shown)
            {
                wanted.append(file.id)
            }
        }
        return wanted
    }

    private static func text(_ item: APIItem) -> TextReference {
        TextReference(item.id, in: item.chat.reference.chat)
    }

    /// The core cancels its acceptance if a file turns out to be on unknown relays.
    private func takeUpdated(_ item: APIItem, _ change: IndexChange) throws -> [FileID] {
        let before = try change.tables.items.item(item.id)?.file?.status
        try take(item, change)
        if item.file == nil, item.deletion != nil { change.tellTextsGone([Self.text(item)]) }
        guard let file = try change.tables.items.item(item.id)?.file, case .rcvAborted = file.status else {
            return []
        }
        switch before {
        case .rcvAccepted, .rcvTransfer, .rcvWarning: return [file.id]
        default: return []
        }
    }

    private func take(
        _ item: APIItem, _ change: IndexChange, _ cause: ItemChange? = nil
    ) throws {
        recent.note([item.id])
        try change.take(item, .look, cause)
    }

    /// Handles transfer steps with an item. Returns false for other events.
    private func applyTransfer(_ kind: APIEvent.Kind, _ change: IndexChange) throws -> Bool {
        switch kind {
        case .rcvFileDescrReady(let item, let description):
            guard description.isComplete else { break }
            if let file = item.file?.id { descriptions.note(description.text, of: file, in: item.id) }
            recent.note([item.id])
            try change.take(item, .described, .described)
        case .rcvFileAccepted(let item): try take(item, change, .accepted)
        case .rcvFileStart(let item): try take(item, change, .started)
        case .rcvFileComplete(let item):
            if let file = item.file?.id { descriptions.forget(file) }
            try take(item, change, .completed)
        case .rcvFileSndCancelled(let item): try take(item, change, .cancelledByPeer)
        case .rcvFileCancelled(_, let item?), .sndFileCancelled(_, let item?): try take(item, change)
        case .sndFileStart(let item): try take(item, change, .started)
        case .sndFileComplete(let item): try take(item, change, .completed)
        case .sndFileRcvCancelled(let item): try take(item, change, .cancelledByPeer)
        case .sndFileCompleteXFTP(_, let item): try take(item, change, .completed)
        default: return false
        }
        return true
    }

    /// Handles progress and failures, which have an item only for files of messages.
    private func applyProgress(_ kind: APIEvent.Kind, _ change: IndexChange) throws {
        switch kind {
        case .rcvFileProgressXFTP(let file, nil, let done, let total),
            .sndFileProgressXFTP(let file, nil, let done, let total):
            tellProgress(of: file, done, total, change)
        case .rcvFileProgressXFTP(let file, _, let received, let total):
            try change.advance(file, to: .rcvTransfer(received: received, total: total), received, total)
        case .sndFileProgressXFTP(let file, _, let sent, let total):
            try change.advance(file, to: .sndTransfer(sent: sent, total: total), sent, total)
        case .rcvFileError(let file, let item, let error):
            let problem = error.fileProblem
            guard item != nil else { return change.tell(.rcvStandaloneFileError(file, problem)) }
            try change.setStatus(.rcvError(problem), of: file, .failed(problem))
        case .rcvFileWarning(let file, let item, let error):
            let problem = error.fileProblem
            guard item != nil else { return change.tell(.standaloneFileWarning(file, problem)) }
            try change.setStatus(.rcvWarning(problem), of: file, .delayed(problem))
        case .sndFileError(let file, let item, let problem):
            guard item != nil else {
                return change.tell(.sndStandaloneFileError(standaloneFiles.described(by: file), problem))
            }
            try change.setStatus(.sndError(problem), of: file, .failed(problem))
        case .sndFileWarning(let file, let item, let problem):
            guard item != nil else {
                return change.tell(.standaloneFileWarning(standaloneFiles.described(by: file), problem))
            }
            try change.setStatus(.sndWarning(problem), of: file, .delayed(problem))
        case .rcvStandaloneFileComplete(let file, let path):
            change.tell(.rcvStandaloneFileComplete(file, path: path))
        case .sndFileRedirectStartXFTP(let file, let redirect):
            standaloneFiles.note(redirect: redirect, of: file)
        case .sndStandaloneFileComplete(let file, let links):
            change.tell(.sndStandaloneFileComplete(standaloneFiles.described(by: file), links: links))
        default: break
        }
    }

    /// Publishes no progress of redirect files, which are small and follow their file.
    private func tellProgress(of file: FileID, _ done: UInt64, _ total: UInt64, _ change: IndexChange) {
        guard standaloneFiles.described(by: file) == file else { return }
        change.tell(.standaloneFileProgress(file, done: done, total: total))
    }
}
