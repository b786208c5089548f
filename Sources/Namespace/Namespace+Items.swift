import Base
import ChatCore

/// A snapshot of the index for the files of one chat.
public struct KnownNames: Sendable {
    let folder: NodeID
    let records: [ItemID: NameIndex.Record]
    let version: Int64
}

/// Chats and their files as reported by the core.
extension Namespace {
    /// Shows new or changed chats. A folder keeps its name until the user gives the chat another alias. New names are
    /// durable, because users have seen them.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func show(_ chats: [Chat]) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        let isNew = chats.contains { node(of: $0.reference) == nil }
        return try change(isDurable: isNew) { index, shown in
            try chats.namedByUserFirst.flatMap { (chat) -> [NamespaceChange] in
                if let node = shown.node(.chat(chat.reference)) {
                    let updated = node.with(content: .chat(chat))
                    shown.replace(updated)
                    guard let name = try index.chosenFolder(of: chat, insteadOf: node.name) else {
                        return [.changed(updated)]
                    }
                    try index.rename(node.id, to: name)
                    shown.rename(updated, to: name, at: now)
                    return [.vanished(node), .appeared(updated.with(name: name))]
                }
                let record = try index.folder(of: chat)
                let chosen = try index.chosenFolder(of: chat, insteadOf: record.name)
                if let chosen { try index.rename(record.id, to: chosen) }
                let node = Node(
                    id: record.id, folder: .root, name: chosen ?? record.name, content: .chat(chat))
                shown.add(node, at: chat.updatedAt)
                return [.appeared(node)]
            }
        }
    }

    /// Shows new or changed items. Ignores items without a file or of unknown chats.
    /// - Parameter time: New modification time of their folders; nil for the items' own times, at the start.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func show(
        _ items: [ChatItem], at time: Timestamp? = nil
    ) throws(NamespaceError) -> [NamespaceChange] {
        try change { index, shown in
            try items.compactMap { item in
                guard let folder = shown.node(.chat(item.chat))?.id else { return nil }
                return try Self.show(item, in: folder, at: time, index, &shown) {
                    try index.record(of: .item(item.id))
                }
            }
        }
    }

    /// Shows the progress of a file. Makes no change unless the file is shown and transferring.
    /// - Throws: `.storage`.
    public func advance(_ progress: FileProgress) throws(NamespaceError) -> [NamespaceChange] {
        try change { _, shown in
            guard let node = shown.node(.item(progress.item)), case .item(let item) = node.content,
                let advanced = item.advanced(by: progress), advanced != item
            else { return [] }
            let updated = node.with(content: .item(advanced))
            shown.replace(updated)
            return [.changed(updated)]
        }
    }

    /// Reads the index for `complete`. Returns nil if the chat has more than `limit` files. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func knownNames(
        of chat: ChatReference, limit: Int = .max - 1
    ) throws(NamespaceError) -> KnownNames? {
        guard let folder = node(of: chat)?.id else { return nil }
        return try read { index in
            let records = try index.items(in: folder, limit: limit + 1)
            return records.count > limit
                ? nil : KnownNames(folder: folder, records: records, version: index.version)
        }
    }

    /// Shows all files of a chat, oldest first, so that the older of two equally named files gets the name. Other
    /// entries of the index were deleted while unmounted; their names stay reserved. From now on the folder is
    /// complete.
    /// - Parameter known: A snapshot read while the core was queried; read again if the index changed since.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func complete(
        _ chat: ChatReference, with items: [ChatItem], known: KnownNames? = nil
    ) throws(NamespaceError) {
        try change { index, shown in
            guard let folder = shown.node(.chat(chat))?.id else { return }
            let records =
                if let known, known.folder == folder, known.version == index.version {
                    known.records
                } else {
                    try index.items(in: folder)
                }
            shown.reserve(items.count, in: folder)
            var found = 0
            for item in items where item.file != nil {
                let record = records[item.id]
                if record != nil { found += 1 }
                _ = try Self.show(item, in: folder, at: nil, index, &shown) { record }
            }
            if found < records.count {
                let present = Set(items.lazy.filter { $0.file != nil }.map(\.id))
                // Shown items were reported after `items` was read.
                for (item, record) in records where !present.contains(item) && shown.node(.item(item)) == nil
                {
                    try Self.retire(record, index)
                }
            }
            shown.complete(folder)
        }
    }

    private static func show(
        _ item: ChatItem, in folder: NodeID, at time: Timestamp?, _ index: NameIndex,
        _ shown: inout PendingChange, known: () throws -> NameIndex.Record?
    ) throws -> NamespaceChange? {
        guard item.file != nil else { return nil }
        let hasPreview = item.hasPreview
        let item = item.shortened
        if let node = shown.node(.item(item.id)) {
            if case .item(let old) = node.content, old == item { return nil }
            let updated = node.with(content: .item(item), hasPreview: hasPreview || node.hasPreview)
            shown.replace(updated)
            return .changed(updated)
        }
        let before = try known()
        let record = try before ?? add(.item(item.id), EntryName(of: item), in: folder, index)
        let node = Node(
            id: record.id, folder: folder, name: record.name, content: .item(item),
            modified: record.modified, hasPreview: hasPreview, isCleaned: record.isCleaned)
        shown.add(node, at: before == nil ? time ?? item.time : item.time)
        // An item with a name was evicted, or was named by an earlier mount.
        return before == nil ? .appeared(node) : .changed(node)
    }

    /// Removes deleted items. Their names stay reserved.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func remove(_ items: [ItemID]) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        return try change(frees: true) { index, shown in
            try items.compactMap { item in
                guard let record = try index.record(of: .item(item)) else { return nil }
                try Self.retire(record, index)
                if let node = shown.node(.item(item)) {
                    shown.remove(node, at: now)
                } else {
                    shown.touch(record.folder, at: now)
                }
                return .vanished(record.id, record.name, in: record.folder)
            }
        }
    }

    /// Removes the folder of a deleted chat and its entries. Their names stay reserved.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func remove(folder: NodeID) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        return try change(frees: true) { index, shown in
            guard let node = shown.node(folder), case .chat = node.content else { return [] }
            for record in try index.items(in: folder).values { try Self.retire(record, index) }
            shown.remove(node, at: now)
            return [.vanished(node)]
        }
    }

    /// Removes index entries that are not shown after all chats and drafts were. Forgets drafts with their names.
    /// Reserves the names of files in deleted chats; such a chat's folder would get its name again.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func removeUnseen() throws(NamespaceError) {
        try change { index, shown in
            for draft in try index.drafts() where shown.node(draft.owner) == nil {
                try index.remove(draft.id)
            }
            for chat in try index.chats() where shown.node(chat.owner) == nil {
                for record in try index.items(in: chat.id).values { try Self.retire(record, index) }
            }
        }
    }

    private static func retire(_ record: NameIndex.Record, _ index: NameIndex) throws {
        try index.retire(record.name, in: record.folder)
        try index.remove(record.id)
    }

    /// Sets the modification time that the writer gave to a sent file.
    /// - Throws: `.diskFull`, `.storage`.
    public func setModified(_ time: Timestamp, of id: NodeID) throws(NamespaceError) {
        try change { index, shown in
            try index.setModified(time, of: id)
            if let node = shown.node(id) { shown.replace(node.with(modified: time)) }
        }
    }

    private static func add(
        _ owner: NameIndex.Owner, _ wanted: EntryName, in folder: NodeID, _ index: NameIndex
    ) throws -> NameIndex.Record {
        let name = try index.freeName(wanted, in: folder)
        let id = try index.insert(owner, name: name, in: folder)
        return NameIndex.Record(id: id, folder: folder, name: name, owner: owner)
    }
}
