import Base
import ChatCore

/// Drafts, from their first name to their item.
extension Namespace {
    /// Shows a draft under exactly this name. The name of a deleted item is permitted, because the writer chose it.
    /// - Throws: `.noSuchNode` if the folder is gone, `.nameTaken`, `.damaged`, `.diskFull`, `.storage`.
    public func show(
        draft: DraftID, named name: EntryName, in folder: NodeID
    ) throws(NamespaceError) -> Node {
        try show(draft, in: folder) { index in
            guard try !index.isInUse(name, in: folder) else {
                throw NamespaceError(.nameTaken, "The name is in use in this folder.")
            }
            return name
        }
    }

    /// - Parameter name: Called within the change to choose a name, if the draft has none in this folder.
    private func show(
        _ draft: DraftID, in folder: NodeID, name: (NameIndex) throws -> EntryName
    ) throws(NamespaceError) -> Node {
        let now = clock.now()
        return try change { index, shown in
            guard shown.hasFolder(folder) else {
                throw NamespaceError(.noSuchNode, "The folder is not there any more.")
            }
            if let node = shown.node(.draft(draft)) { return node }
            let record: NameIndex.Record
            if let known = try index.record(of: .draft(draft)), known.folder == folder {
                record = known
            } else {
                if let known = try index.record(of: .draft(draft)) { try index.remove(known.id) }
                let name = try name(index)
                let id = try index.insert(.draft(draft), name: name, in: folder)
                record = .init(id: id, folder: folder, name: name, owner: .draft(draft))
            }
            let node = Node(id: record.id, folder: folder, name: record.name, content: .draft(draft))
            shown.add(node, at: now)
            return node
        }
    }

    /// Shows a draft under a free name similar to `name`.
    /// - Throws: As `show(draft:named:in:)`.
    @discardableResult
    public func show(
        draft: DraftID, namedLike name: EntryName, in folder: NodeID
    ) throws(NamespaceError) -> Node {
        try show(draft, in: folder) { try $0.freeName(name, in: folder) }
    }

    /// Frees the names of all other drafts, which no longer exist. Must precede the first `show`, because a draft may
    /// have the name of a vanished one.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func forgetDrafts(except known: Set<DraftID>) throws(NamespaceError) {
        try change { index, _ in
            for record in try index.drafts() {
                if case .draft(let draft) = record.owner, !known.contains(draft) {
                    try index.remove(record.id)
                }
            }
        }
    }

    /// Shows an unfinished draft of an earlier mount in `.chatfs/recovered`.
    /// - Throws: As `show(draft:named:in:)`.
    @discardableResult
    public func show(recovered draft: DraftID, named name: EntryName) throws(NamespaceError) -> Node {
        try show(draft, in: .recovered) { try $0.freeName(name, in: .recovered) }
    }

    /// Returns true if the name is in use in the chat's folder, also while its items are not in memory. Blocks.
    /// - Throws: `.storage`.
    public func isInUse(_ name: EntryName, in chat: ChatReference) throws(NamespaceError) -> Bool {
        guard let folder = node(of: chat)?.id else { return false }
        if child(name, of: folder) != nil { return true }
        return try read { try $0.isInUse(name, in: folder) }
    }

    /// Renames a draft within its folder. `replaced` has the new name and is removed.
    /// - Throws: `.noSuchNode`, `.nameTaken`, `.damaged`, `.diskFull`, `.storage`.
    public func rename(
        draft: DraftID, to name: EntryName, replacing replaced: Node? = nil
    ) throws(NamespaceError) {
        let now = clock.now()
        try change { index, shown in
            guard let node = shown.node(.draft(draft)) else {
                throw NamespaceError(.noSuchNode, "The draft is not there any more.")
            }
            if let replaced, case .draft(let gone) = replaced.content, let other = shown.node(.draft(gone)) {
                try index.remove(other.id)
                shown.remove(other, at: now)
            } else if try index.isInUse(name, in: node.folder) {
                throw NamespaceError(.nameTaken, "The name is in use in this folder.")
            }
            try index.rename(node.id, to: name)
            shown.rename(node, to: name, at: now)
        }
    }

    /// Removes a draft and frees its name.
    /// - Throws: `.diskFull`, `.storage`.
    public func remove(draft: DraftID) throws(NamespaceError) -> NamespaceChange? {
        let now = clock.now()
        return try change(frees: true) { index, shown in
            guard let node = shown.node(.draft(draft)) else { return nil }
            try index.remove(node.id)
            shown.remove(node, at: now)
            return .vanished(node)
        }
    }

    /// Transfers a draft's node, name and time to the item that the core made of it. Removes a node under which the
    /// item was already shown. If that node has the writer's name, it stays and the draft's is removed: a power cut
    /// then reverted the record that the draft was sent, but not the name's.
    /// - Parameters:
    ///   - wanted: The writer's name.
    ///   - isCleaned: True if metadata was removed from the written file.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func draft(
        _ draft: DraftID, became item: ChatItem, named wanted: EntryName, modified: Timestamp,
        isCleaned: Bool = false
    ) throws(NamespaceError) -> [NamespaceChange] {
        try hand(.draft(draft), to: item, named: wanted, modified: modified, isCleaned: isCleaned)
    }

    /// Transfers an item's node, name and time to the new message that replaces it after a resend.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func item(_ earlier: ChatItem, became item: ChatItem) throws(NamespaceError) -> [NamespaceChange] {
        try hand(.item(earlier.id), to: item, named: nil, modified: nil, isCleaned: false)
    }

    /// - Parameter modified: nil keeps the current time.
    private func hand(
        _ owner: NameIndex.Owner, to item: ChatItem, named wanted: EntryName?, modified: Timestamp?,
        isCleaned: Bool
    ) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        // Durable, because the sender forgets the name afterwards.
        return try change(isDurable: true) { index, shown in
            guard let own = try index.record(of: owner) else { return [] }
            let other = try index.record(of: .item(item.id))
            let keepsOther = other.map { $0.folder == own.folder && $0.name == wanted } ?? false
            let (kept, gone) = keepsOther ? (other ?? own, own) : (own, other)
            var changes: [NamespaceChange] = []
            if let gone {
                try index.remove(gone.id)
                if let node = shown.node(gone.owner) {
                    shown.remove(node, at: now)
                    changes.append(.vanished(node))
                } else {
                    changes.append(.vanished(gone.id, gone.name, in: gone.folder))
                }
            }
            let node = shown.node(kept.owner)
            let modified = modified ?? kept.modified ?? node?.time
            let isCleaned = isCleaned || kept.isCleaned
            try index.hand(kept.id, to: item.id, modified: modified, isCleaned: isCleaned)
            let updated = Node(
                id: kept.id, folder: kept.folder, name: kept.name,
                content: .item(item.shortened), modified: modified, hasPreview: item.hasPreview,
                isCleaned: isCleaned)
            if let node {
                shown.forget(node.content)
                shown.replace(updated)
            }
            changes.append(.changed(updated))
            return changes
        }
    }
}
