import Base
import ChatCore

/// Chats and the files in them, as the core tells of them.
extension Namespace {
    static let linksName = EntryName("Links")
    /// Names of the root that no contact gets.
    static let reservedNames: Set = [EntryName(".chatfs"), EntryName("Saved notes"), linksName]

    /// Shows chats, or what changed about them. A folder keeps its name for ever.
    public func show(_ chats: [Chat]) throws(NamespaceError) -> [NamespaceChange] {
        try change { index, shown in
            try chats.compactMap { chat in
                if let node = shown.node(.chat(chat.reference)) {
                    let updated = node.with(content: .chat(chat))
                    shown.replace(updated)
                    return .changed(updated)
                }
                let record =
                    try index.record(of: .chat(chat.reference))
                    ?? Self.add(.chat(chat.reference), EntryName(of: chat), in: .root, index) { name in
                        if case .notes = chat.reference { return name == Self.linksName }
                        return Self.reservedNames.contains(name)
                    }
                let node = Node(id: record.id, folder: .root, name: record.name, content: .chat(chat))
                shown.add(node, at: chat.updatedAt)
                return .appeared(node)
            }
        }
    }

    /// Shows items, or what changed about them; those without a file or of an unknown chat are left
    /// out. `time` is when their folders changed; nil for the items' own times (at the start).
    public func show(
        _ items: [ChatItem], at time: Timestamp? = nil
    ) throws(NamespaceError) -> [NamespaceChange] {
        try change { index, shown in
            var known = KnownNames(index, awaiting: items.count)
            return try items.compactMap { item in
                guard let folder = shown.node(.chat(item.chat)), item.file != nil else { return nil }
                let item = item.withoutPreview
                if let node = shown.node(.item(item.id)) {
                    if case .item(let old) = node.content, old == item { return nil }
                    let updated = node.with(content: .item(item))
                    shown.replace(updated)
                    return .changed(updated)
                }
                let record =
                    try known.record(of: item.id, in: folder.id)
                    ?? Self.add(.item(item.id), EntryName(of: item), in: folder.id, index)
                let node = Node(
                    id: record.id, folder: folder.id, name: record.name, content: .item(item),
                    modified: record.modified)
                shown.add(node, at: time ?? item.time)
                return .appeared(node)
            }
        }
    }

    /// Takes deleted items away. Their names stay out of use.
    public func remove(_ items: [ItemID]) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        return try change { index, shown in
            try items.compactMap { item in
                guard let node = shown.node(.item(item)) else { return nil }
                try index.bury(node.name, in: node.folder)
                try index.remove(node.id)
                shown.remove(node, at: now)
                return .vanished(node)
            }
        }
    }

    /// After everything the core and the outbox have was shown: what the index knows beyond that was
    /// deleted while nothing was mounted.
    public func removeUnseen() throws(NamespaceError) {
        try change { index, shown in
            // Nearly always nothing: then the names need not be read again to find that out.
            if try index.fileCount() == shown.fileCount { return }
            for record in try index.records() where shown.node(record.owner) == nil {
                switch record.owner {
                case .chat: continue
                case .item: try index.bury(record.name, in: record.folder)
                case .draft: break
                }
                try index.remove(record.id)
            }
        }
    }

    /// Keeps the time that its writer gave to a sent file.
    public func setModified(_ time: Timestamp, of id: NodeID) throws(NamespaceError) {
        try change { index, shown in
            guard let node = shown.node(id) else { return }
            try index.setModified(time, of: id)
            shown.replace(node.with(modified: time))
        }
    }

    private static func add(
        _ owner: NameIndex.Owner, _ wanted: EntryName, in folder: NodeID, _ index: NameIndex,
        isReserved: (EntryName) -> Bool = { _ in false }
    ) throws -> NameIndex.Record {
        let name = try index.freeName(wanted, in: folder, isReserved: isReserved)
        let id = try index.insert(owner, name: name, in: folder)
        return NameIndex.Record(id: id, folder: folder, name: name, owner: owner)
    }
}
