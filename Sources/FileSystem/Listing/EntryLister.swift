import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Describes chats and entries to programs that query the daemon instead of the kernel. Loads a chat first, as for a
/// listing, and takes no kernel references. Stateless; thread-safe.
public struct EntryLister: Sendable {
    let names: Namespace
    let loader: FolderLoader
    let attributes: AttributeReader
    let extended: ExtendedAttributes
    let digests: ContentDigests

    /// Returns all chats, sorted by folder name.
    public func chats() -> [FolderDescription] {
        (names.list(.root, after: nil, count: .max) ?? []).compactMap(folder).sorted { $0.name < $1.name }
    }

    /// Folder names of all chats.
    public var folderNames: [ChatReference: String] {
        Dictionary(chats().map { ($0.chat.reference, $0.name) }) { first, _ in first }
    }

    /// Returns the chat folder with this number, or nil.
    public func folder(_ id: NodeID) -> FolderDescription? { names.node(id).flatMap(folder) }

    /// Returns the folder of a chat, or nil.
    public func folder(of chat: ChatReference) -> FolderDescription? { names.node(of: chat).flatMap(folder) }

    /// Returns the inode number of an item's entry.
    public func number(of item: ItemID) async -> NodeID? {
        // An unreadable index counts as unknown.
        await ThreadPool.shared.run { [names] in (try? names.id(of: item)) ?? nil }
    }

    /// Returns the name of an item's entry; nil if it is not in memory.
    public func knownName(of item: ItemID) -> String? { names.node(of: item)?.name.description }

    /// Returns the name of an item's entry; nil if it has none yet or any more.
    public func name(of item: ItemID) async -> String? {
        if let node = names.node(of: item) { return node.name.description }
        // An unreadable index counts as unknown.
        return await ThreadPool.shared.run { [names] in ((try? names.name(of: item)) ?? nil)?.description }
    }

    /// Returns the path of an entry below the mountpoint, loading it if necessary; nil if it is gone.
    public func path(of id: NodeID) async -> String? { await entry(id)?.path }

    /// Returns the inode number of a draft's entry.
    public func number(ofDraft id: Int64) -> NodeID? { names.node(of: DraftID(id))?.id }

    private func folder(_ node: Node) -> FolderDescription? {
        guard case .chat(let chat) = node.content else { return nil }
        return FolderDescription(id: node.id, name: node.name.description, chat: chat)
    }

    /// Returns up to `count` entries of a folder in the order of their numbers.
    /// - Parameters:
    ///   - last: Number of the last returned entry. Concurrent changes cause neither gaps nor duplicates.
    ///   - isHashing: If true, computes the digests of all local files; otherwise returns known digests only.
    /// - Throws: ETIMEDOUT if the chat's files do not arrive in time, EINTR for a cancelled task, or the errno of the
    ///   core or the index.
    public func entries(
        of folder: NodeID, after last: NodeID? = nil, count: Int, isHashing: Bool = false
    ) async throws(FileSystemError) -> [EntryDescription] {
        while true {
            try await loader.prepare(folder).result().get()
            // Evicted meanwhile: retry.
            guard let nodes = names.list(folder, after: last, count: count) else { continue }
            return try await descriptions(of: nodes, isHashing)
        }
    }

    private func descriptions(
        of nodes: [Node], _ isHashing: Bool
    ) async throws(FileSystemError) -> [EntryDescription] {
        let known = try await digests.digests(of: nodes, isComputing: isHashing)
        return nodes.compactMap { node in
            var description = description(of: node)
            description?.digest = known[node.id]
            return description
        }
    }

    /// Returns the entry at a path below the mountpoint.
    /// - Parameter isHashing: As for `entries`.
    /// - Throws: ENOENT, EISDIR for a folder, and the errors of `entries`.
    public func entry(
        at path: String, isHashing: Bool = false
    ) async throws(FileSystemError) -> EntryDescription {
        var folder = NodeID.root
        var parts = path.pathNames.map { EntryName($0) }
        guard let last = parts.popLast() else { throw .isFolder }
        for name in parts { folder = try await child(name, of: folder).id }
        let node = try await child(last, of: folder)
        guard let description = try await descriptions(of: [node], isHashing).first else {
            throw node.isFolder ? .isFolder : .notFound
        }
        return description
    }

    private func child(_ name: EntryName, of folder: NodeID) async throws(FileSystemError) -> Node {
        let found = loader.whenLoaded(folder) { [names] () -> Answer<Node> in
            names.child(name, of: folder).map { .done($0) } ?? .refused(.notFound)
        }
        return try await found.result().get()
    }

    /// Returns nil if the number is not in use any more, and for folders and control files.
    public func entry(_ id: NodeID) async -> EntryDescription? {
        let node = loader.whenKnown(id) { [names] () -> Answer<Node> in
            names.node(id).map { .done($0) } ?? .refused(.gone)
        }
        guard case .success(let node) = await node.result() else { return nil }
        return description(of: node)
    }

    /// Returns the entry of an item; nil if it has none or its chat cannot be loaded.
    public func entry(of item: ItemID, in chat: ChatReference) async -> EntryDescription? {
        if names.node(of: item) == nil {
            guard let folder = names.node(of: chat)?.id else { return nil }
            guard case .success = await loader.prepare(folder).result() else { return nil }
        }
        return names.node(of: item).flatMap(description(of:))
    }

    private func description(of node: Node) -> EntryDescription? {
        switch node.content {
        case .item, .draft: break
        case .root, .control, .status, .transfers, .recovered, .marker, .thumbnails, .thumbnail, .chat,
            .pastedFolder, .messages, .messageLog:
            return nil
        }
        let (shown, path) = (attributes.attributes(of: node), names.path(of: node))
        var chat: ChatReference?
        if case .chat(let found) = names.node(node.folder)?.content { chat = found.reference }
        return EntryDescription(
            id: node.id, path: path, chat: chat, size: shown.size, modified: shown.modified,
            attributes: extended.all(of: node))
    }
}
