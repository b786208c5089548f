import Base
import ChatCore
import Glibc

/// The user's operations in the folder of links. All calls block.
extension LinkStore {
    private static let noSuchItem = ChatError(.noSuchItem, "There is no such link.")

    /// Adds a file to upload. The same message again returns the existing row.
    func add(_ message: ComposedMessage) throws -> LinkRow {
        try open()
        if let known = try read(or: nil, { try $0.row(sentAs: message.id) }) {
            unlink(message.source.path)
            return known
        }
        let name = try folder.keep(message.source, size: message.size)
        do {
            let row = try commit { change in
                let id = try change.table.insertUpload(message, storedName: name, created: clock.now())
                guard let row = try change.table.row(id) else { throw Self.noSuchItem }
                return row
            }
            unlink(message.source.path)
            return row
        } catch {
            folder.remove(name)
            throw error
        }
    }

    /// Adds the file of a link, replacing one that was lost.
    func add(_ addition: LinkTable.Addition) throws -> LinkRow {
        try commit { change in
            if let known = try change.table.row(ofLink: addition.digest) {
                guard known.status == .lost else { return known }
                try take(known, change)
            }
            let id = try change.table.insertAdded(addition, created: clock.now())
            try change.tellNew(id)
            guard let row = try change.table.row(id) else { throw Self.noSuchItem }
            return row
        }
    }

    /// Removes entries, all or none. Returns those whose uploads the relays must delete.
    func remove(_ ids: [Int64]) throws -> [Int64] {
        guard try isUsed else { throw Self.noSuchItem }
        return try commit { change in
            var remaining: [Int64] = []
            for id in ids {
                guard let row = try change.table.row(id), row.status != .removed else {
                    throw Self.noSuchItem
                }
                try removeShortcuts(of: id, change)
                if row.kind == .upload, row.hasBegun {
                    _ = try change.table.setStatus(.removed, of: id, from: LinkStatus.allCases)
                    change.tell(.chatItemsDeleted([(.links, row.item)], .deleted))
                    remaining.append(id)
                } else {
                    try take(row, change)
                }
            }
            return remaining
        }
    }

    /// Revokes an upload; its entry stays.
    func cancel(_ id: Int64) throws {
        guard try isUsed else { throw ChatError(.noSuchFile, "There is no such file.") }
        try commit { change in
            guard let row = try change.table.row(id), row.status != .removed else {
                throw ChatError(.noSuchFile, "There is no such file.")
            }
            guard row.kind == .upload,
                try change.table.setStatus(.cancelled, of: id, from: [.uploading, .uploaded, .failed])
            else { throw ChatError(.invalidCommand, "The file is not being uploaded.") }
            try removeShortcuts(of: id, change)
            try change.tell(.updated, of: id)
        }
    }

    private func removeShortcuts(of id: Int64, _ change: Change) throws {
        for shortcut in try change.table.shortcuts(of: id) { try take(shortcut, change) }
    }

    private func take(_ row: LinkRow, _ change: Change) throws {
        change.abandon(row.storedName)
        try change.table.remove(row.id)
        change.tell(.chatItemsDeleted([(.links, row.item)], .deleted))
    }
}
