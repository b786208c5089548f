import ChatCore
import CoreServices
import XFTP

/// Stores the outcomes of uploads in their rows and reports them. Does nothing if the row says that the upload is
/// unwanted by then.
struct LinkOutcomes: Sendable {
    let store: LinkStore

    /// Stores the link and its shortcut.
    func complete(_ id: Int64, _ link: String) async throws(ChatError) {
        let row = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(id) } }
        guard let row, row.status == .uploading else { return }
        var described = try await Self.parsed(link)
        described.data = LinkFacts(name: row.name, size: row.size, expires: row.expires).text
        let text = described.text
        try await blocking.run { [store] in
            let content = LinkShortcut.content(text)
            let shortcut = try store.folder.write(content)
            let isKept = try store.commit { change in
                guard try change.table.setStatus(.uploaded, of: id, from: [.uploading]) else { return false }
                try change.table.setLink(text, of: id)
                let number = try change.table.insertShortcut(
                    of: id, name: LinkShortcut.name(for: row.name), size: UInt64(content.count),
                    storedName: shortcut.name, shortcut.arguments, created: store.clock.now())
                try change.tell(.completed, of: id)
                try change.tellNew(number)
                return true
            }
            if !isKept { store.folder.remove(shortcut.name) }
            forgetProgress(id)
        }
    }

    private static func parsed(_ link: String) async throws(ChatError) -> FileLink {
        do throws(XFTPError) {
            return try await FileLink.parse(link)
        } catch {
            throw ChatError(.internalError, "The core returned an invalid link.", cause: error)
        }
    }

    /// The upload failed permanently.
    func fail(_ id: Int64, _ problem: FileProblem) async {
        await blocking.attempt("note why there is no link") { [store] in
            try store.commit { change in
                guard try change.table.setStatus(.failed, of: id, from: [.uploading], problem: problem)
                else { return }
                try change.tell(.failed(problem), of: id)
            }
            forgetProgress(id)
        }
    }

    /// The upload waits for a retry.
    func warn(_ id: Int64, _ problem: FileProblem) async {
        await blocking.attempt("note why a link waits") { [store] in
            try store.commit { change in
                guard try change.table.setStatus(.uploading, of: id, from: [.uploading], problem: problem)
                else { return }
                try change.tell(.delayed(problem), of: id)
            }
        }
    }

    func tellProgress(_ id: Int64, _ done: UInt64, _ total: UInt64) async {
        await blocking.attempt("report the progress of a link") { [store] in
            guard let row = try store.read(or: nil, { try $0.row(id) }), row.status == .uploading else {
                return
            }
            let isFirst = store.setProgress(id, (done, total))
            if isFirst || row.problem != nil {
                // The upload continues, so its problem is over.
                let isWanted = try store.commit { change in
                    guard try change.table.setStatus(.uploading, of: id, from: [.uploading]) else {
                        return false
                    }
                    try change.tell(.started, of: id)
                    return true
                }
                guard isWanted else { return }
            }
            let progress = FileProgress(of: row.file, in: store.item(row), done: done, total: total)
            store.events.tell(.fileProgress(progress))
        }
    }

    /// The upload is deleted on the relays too.
    func takenBack(_ row: LinkRow) async throws(ChatError) {
        try await blocking.run { [store] in
            try store.commit { change in
                // The entry may have been removed while the relays were contacted for its cancellation.
                let now = try change.table.row(row.id)?.status
                if row.status == .removed || now == .removed {
                    change.abandon(row.storedName)
                    try change.table.remove(row.id)
                } else {
                    try change.table.noteEnded(row.id)
                    try change.tell(.updated, of: row.id)
                }
            }
            forgetProgress(row.id)
        }
    }

    /// Blocks.
    private func forgetProgress(_ id: Int64) {
        store.folder.removePlain(id)
        store.setProgress(id, nil)
    }
}
