import Base
import ChatCore

/// Drafts, from their first name to the item that they become.
extension Namespace {
    /// Shows a draft under exactly this name. A name that a deleted item had may be used: its writer
    /// chose it.
    /// - Throws: `.noSuchNode` where the folder is gone, `.nameTaken`, `.damaged`, `.diskFull`, `.storage`.
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

    /// - Parameter name: asked for where it has none in this folder, within the change that gives it to the draft.
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

    /// Shows a draft whose name is in use, under a free one like it.
    /// - Throws: as `show(draft:named:in:)`.
    @discardableResult
    public func show(
        draft: DraftID, namedLike name: EntryName, in folder: NodeID
    ) throws(NamespaceError) -> Node {
        try show(draft, in: folder) { try $0.freeName(name, in: folder) }
    }

    /// The names of all drafts but these are free again: nothing is left of them. Before the first is shown, since
    /// a draft may have the name of one that is gone.
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

    /// Shows a draft that an earlier mount left unfinished in `.chatfs/recovered`.
    /// - Throws: as `show(draft:named:in:)`.
    @discardableResult
    public func show(recovered draft: DraftID, named name: EntryName) throws(NamespaceError) -> Node {
        try show(draft, in: .recovered) { try $0.freeName(name, in: .recovered) }
    }

    /// Whether something of the folder of a chat has this name, also while its items are not in memory. Blocks.
    /// - Throws: `.storage`.
    public func isInUse(_ name: EntryName, in chat: ChatReference) throws(NamespaceError) -> Bool {
        guard let folder = node(of: chat)?.id else { return false }
        if child(name, of: folder) != nil { return true }
        return try read { try $0.isInUse(name, in: folder) }
    }

    /// Moves a draft to another name of its folder. `replaced` is what has that name and goes.
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

    /// Takes a dropped draft away; its name is free again, nobody else has seen it.
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

    /// A draft was handed to the core: its node, name and time are the item's from now on. A node
    /// that the item was shown under before anyone knew is taken away; where that has the name which the draft's writer
    /// gave, it is the other way round: a power cut took back that the draft was sent, and not whose its name is.
    /// - Parameters:
    ///   - wanted: the name that its writer gave.
    ///   - isCleaned: metadata was removed from what was written.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func draft(
        _ draft: DraftID, became item: ChatItem, named wanted: EntryName, modified: Timestamp,
        isCleaned: Bool = false
    ) throws(NamespaceError) -> [NamespaceChange] {
        try hand(.draft(draft), to: item, named: wanted, modified: modified, isCleaned: isCleaned)
    }

    /// A file was sent once more, in a message that takes the place of an earlier one: its node, name and
    /// time are the new one's from now on.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func item(_ earlier: ChatItem, became item: ChatItem) throws(NamespaceError) -> [NamespaceChange] {
        try hand(.item(earlier.id), to: item, named: nil, modified: nil, isCleaned: false)
    }

    /// - Parameter modified: nil keeps the time that it has.
    private func hand(
        _ owner: NameIndex.Owner, to item: ChatItem, named wanted: EntryName?, modified: Timestamp?,
        isCleaned: Bool
    ) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        // Whoever sent it forgets the name once this returns.
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
