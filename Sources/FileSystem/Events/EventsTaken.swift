import Base
import ChatCore
import Hydration
import Namespace
import Outbox
import Posix

extension FileSystem {
    /// Shows the chats, and drafts of earlier mounts in theirs, follows core, outbox and contents from then
    /// on, and begins to read all other files; those of a small profile are there when this returns. To be
    /// called once, before anything is mounted.
    public func begin() async throws(FileSystemError) -> NewsFeed {
        let feed = NewsFeed(of: self)
        do {
            let chats = try await core.chats()
            let waiting = outbox.draftFiles()
            try await ThreadPool.shared.run { () throws(any Error) in
                _ = try self.names.show(chats)
                for draft in waiting { try self.show(draft) }
                try self.names.removeUnseen()
            }
            // Before the outbox goes on sending them: what became of a draft keeps its name.
            for chat in Set(waiting.map(\.chat)) { try await shown(chat) }
            feed.start(with: chats)
        } catch {
            throw FileSystemError(error)
        }
        await reading.finish(within: Self.patience)
        return feed
    }

    /// A few thousand files are there when the mount is; more of them are not waited for.
    private static let patience = Duration.milliseconds(100)

    /// Shows a draft of an earlier mount, under the name that its writer gave it last.
    private func show(_ draft: any DraftFile) throws {
        let id = DraftID(draft.id)
        let name = EntryName(draft.snapshot.name)
        drafts.withLock { $0[id] = draft }
        if draft.state == .recovered {
            try names.show(recovered: id, named: name)
        } else if let folder = names.node(of: draft.chat)?.id {
            do throws(NamespaceError) {
                let node = try names.show(draft: id, named: name, in: folder)
                if node.name != name { try names.rename(draft: id, to: name) }
            } catch {
                // Sent, and its name was noted as the item's, but the process ended before the outbox
                // was told. It tells of the item again, and is told then.
                guard error.code == .nameTaken, draft.state == .sent else { throw error }
                drafts.withLock { $0[id] = nil }
            }
        }
    }

    // MARK: - One piece of news

    func take(_ news: News) async {
        do {
            switch news {
            case .core(let event): try await take(event)
            case .outbox(let change): try await take(change)
            case .content(.conditionChanged(let file)):
                if let node = names.node(of: file) { notify(.attributes(node.id)) }
            case .content(.contentInvalid(let file)):
                if let node = names.node(of: file) { notify(.content(node.id)) }
            }
        } catch {
            // The next mount finds it; until then the entry shows what it showed.
            log.error("a change could not be shown: \(Base.sentence(of: error))")
        }
    }

    private func take(_ event: ChatEvent) async throws {
        switch event {
        case .newChatItems(let items):
            try await show(items)
        case .chatItemsDeleted(let deleted, let reason):
            for chat in Set(deleted.map(\.chat)) { try await shown(chat) }
            let nodes = deleted.compactMap { names.node(of: $0.item) }
            // Also when the index cannot be written.
            defer { for node in nodes { forgetContent(of: node, reason) } }
            try await change { try self.names.remove(deleted.map(\.item)) }
        case .chatUpdated(let chat):
            try await change { try self.names.show([chat]) }
            try await shown(chat.reference)
        case .chatItemUpdated(let item), .rcvFileDescrReady(let item), .rcvFileAccepted(let item),
            .rcvFileStart(let item), .rcvFileProgressXFTP(let item, _, _), .rcvFileComplete(let item),
            .rcvFileSndCancelled(let item), .rcvFileError(let item, _), .rcvFileWarning(let item, _),
            .sndFileStart(let item), .sndFileProgressXFTP(let item, _, _), .sndFileCompleteXFTP(let item),
            .sndFileComplete(let item), .sndFileRcvCancelled(let item), .sndFileError(let item, _),
            .sndFileWarning(let item, _):
            // A sent file that is not known yet is about to be told by the outbox, with its name.
            try await shown(item.chat)
            guard item.direction == .received || names.node(of: item.id) != nil else { return }
            try await show([item])
        case .coreUnreachable(let reason):
            coreProblem.withLock { $0 = reason }
        case .coreReachable:
            coreProblem.withLock { $0 = nil }
            outbox.retryPostponed()
        case .sndStandaloneFileComplete, .rcvStandaloneFileComplete, .sndStandaloneFileError,
            .rcvStandaloneFileError:
            break
        }
    }

    /// Who has a deleted file open goes on with the bytes that are here, and the kernel's pages of it go with
    /// the last of them. Nobody keeps anything of what disappeared or was moderated.
    private func forgetContent(of node: Node, _ reason: DeletionReason) {
        guard case .item(let item) = node.content, let file = item.file else { return }
        contents.remove(file.id, atOnce: reason != .deleted)
        // The name is gone by now, so nobody else finds the node for the hydrator's own news of it.
        if reason != .deleted { notify(.content(node.id)) }
    }

    private func take(_ change: DraftChange) async throws {
        switch change {
        case .changed(let draft):
            if let node = names.node(of: DraftID(draft.id)) { notify(.attributes(node.id)) }
        case .removed(let draft):
            try await self.change { try self.names.remove(draft: DraftID(draft.id)).map { [$0] } ?? [] }
            drafts.withLock { $0[DraftID(draft.id)] = nil }
        case .recovered(let draft):
            let (id, name) = (DraftID(draft.id), EntryName(draft.snapshot.name))
            let before = names.node(of: id)
            try await self.change {
                let gone = try self.names.remove(draft: id)
                let node = try self.names.show(recovered: id, named: name)
                return [gone, .appeared(node)].compactMap(\.self)
            }
            if let before, let known = references.removeAll(of: before.id) { letGo(known) }
        case .became(let draft, let item):
            let node = names.node(of: DraftID(draft.id))
            contents.update(item)
            let modified = draft.snapshot.modified
            try await self.change {
                try self.names.draft(DraftID(draft.id), became: item, modified: modified)
            }
            await ThreadPool.shared.run { self.acknowledge(draft) }
            drafts.withLock { $0[DraftID(draft.id)] = nil }
            if let node, let known = references.removeAll(of: node.id) { letGo(known) }
            // What happened between its sending and now was about an item that nobody knew. Where the core does
            // not say, its next news of it does.
            if let current = try? await core.item(item.id, in: item.chat) { try await show([current]) }
        }
    }

    private func acknowledge(_ draft: any DraftFile) {
        do {
            try outbox.acknowledge(draft.id)
        } catch {
            log.warning("a sent file is told of again by the next mount: \(sentenceWithCauses(of: error))")
        }
    }

    /// A file was sent past the mount, by who asked its process to: of that the core does not tell.
    public func wasSent(_ item: ChatItem) async {
        do {
            try await show([item])
            // It may have moved on before it was known, as above.
            if let current = try? await core.item(item.id, in: item.chat) { try await show([current]) }
        } catch {
            log.error("a sent file could not be shown: \(Base.sentence(of: error))")
        }
    }

    /// Shows items that came or changed.
    func show(_ items: [ChatItem]) async throws {
        for chat in Set(items.map(\.chat)) { try await shown(chat) }
        for item in items { contents.update(item) }
        let now = now()
        try await change { try self.names.show(items, at: now) }
    }

    func change(_ body: @escaping @Sendable () throws -> [NamespaceChange]) async throws {
        for change in try await ThreadPool.shared.run(body) {
            switch change {
            case .appeared(let node), .vanished(let node): notify(.entry(node.name, in: node.folder))
            case .changed(let node): notify(.attributes(node.id))
            }
        }
    }
}
