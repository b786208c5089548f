import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

extension FileSystem {
    /// A new file: a draft that is sent after its last close. Opened for writing (`flags` as of
    /// open(2)). A name that has appeared meanwhile is opened instead, unless O_EXCL is set.
    public func create(
        _ name: EntryName, in folder: NodeID, flags: Int32
    ) -> Answer<(Attributes, FileHandle)> {
        if let error = refusal(ofNew: name) { return .refused(error) }
        return whenShown(folder) { [self] in createShown(name, in: folder, flags: flags) }
    }

    private func createShown(
        _ name: EntryName, in folder: NodeID, flags: Int32
    ) -> Answer<(Attributes, FileHandle)> {
        guard let parent = names.node(folder) else { return .refused(.gone) }
        guard case .chat(let chat) = parent.content else { return .refused(.notPermitted) }
        if let node = names.child(name, of: folder) {
            guard flags & O_EXCL == 0 else { return .refused(FileSystemError(EEXIST)) }
            return open(node.id, flags: flags).map { handle in
                // As it is now; it may have been emptied.
                if let node = self.node(node.id), let kept = self.attributesToKeep(of: node) {
                    return .success((kept, handle))
                }
                self.release(handle)
                return .failure(.gone)
            }
        }
        if let refused = chat.sendingRefused { return .refused(FileSystemError(EACCES, refused)) }
        return blocking {
            let draft = try self.outbox.createDraft(named: name.bytes, in: chat.reference)
            let id = DraftID(draft.id)
            self.drafts.withLock { $0[id] = draft }
            do {
                let node = try self.names.show(draft: id, named: name, in: folder)
                guard let kept = self.attributesToKeep(of: node) else { throw FileSystemError.gone }
                return (kept, self.handle(on: node, .draft(draft, .ofItsMaker)))
            } catch {
                draft.closed(.ofItsMaker)
                // It is empty: the next mount drops what is left of it.
                try? self.outbox.remove(draft.id)
                self.drafts.withLock { $0[id] = nil }
                throw error
            }
        }
    }

    /// Gives a draft its final name (or any other) in its folder. Everything else is refused: with
    /// EXDEV programs would copy, and a copy is a message.
    public func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32
    ) -> Answer<Void> {
        guard let node = names.child(name, of: folder) else { return .refused(.notFound) }
        guard folder == newFolder, let draft = editableDraft(node) else { return .refused(.notPermitted) }
        // renameat2(2): 1 is RENAME_NOREPLACE; exchanging two names makes no sense here.
        guard flags & ~1 == 0 else { return .refused(FileSystemError(EINVAL)) }
        if let error = refusal(ofNew: newName) { return .refused(error) }
        if name == newName { return .done(()) }
        let target = names.child(newName, of: folder)
        if target != nil && flags & 1 != 0 { return .refused(FileSystemError(EEXIST)) }
        let replaced = target.flatMap(editableDraft)
        if target != nil && replaced == nil { return .refused(.notPermitted) }
        return blocking {
            try self.outbox.rename(draft.id, to: newName.bytes)
            do {
                try self.names.rename(draft: DraftID(draft.id), to: newName, replacing: target)
                if let replaced { self.drafts.withLock { $0[DraftID(replaced.id)] = nil } }
            } catch {
                // What was replaced is gone, but no file is under a name that the index does not know.
                do {
                    try self.outbox.rename(draft.id, to: name.bytes)
                } catch {
                    self.log.error(
                        "a draft has another name for the core than here: \(sentenceWithCauses(of: error))")
                }
                throw error
            }
        }
    }

    /// Removes a draft, takes a queued or sending file back, or deletes an item where the mount was
    /// told to.
    public func unlink(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        guard let node = names.child(name, of: folder) else { return .refused(.notFound) }
        switch node.content {
        case .root, .control, .status, .transfers, .recovered, .chat:
            return .refused(.notPermitted)
        case .draft(let id):
            guard let draft = draft(id, at: node.id) else { return .refused(.notFound) }
            if draft.isAtTheCore { return .later { await self.unlink(draft, at: node.id, name, in: folder) } }
            return blocking { try self.drop(draft) }
        case .item(let item):
            if let file = item.file, item.isBeingSent {
                return .later { await self.takeBack(item, file) }
            }
            switch deletionMode(of: item) {
            case .failure(let error): return .refused(error)
            case .success(let mode): return .later { await self.delete(item, mode: mode) }
            }
        }
    }

    /// chmod, chown, truncate, utimensat.
    public func change(_ id: NodeID, _ change: AttributeChange) -> Answer<Attributes> {
        guard let node = node(id) else { return .refused(.gone) }
        if change.changesOwner { return .refused(.notPermitted) }
        switch node.content {
        case .draft(let draft):
            guard let file = self.draft(draft, at: id) else { return .refused(.gone) }
            return self.change(file, of: node, change)
        case .item(let item) where item.direction == .sent:
            if change.size != nil || change.onlyMakesWritable { return .refused(.notPermitted) }
            guard let time = change.modified else { return .done(attributes(of: node)) }
            return blocking {
                try self.names.setModified(self.timestamp(time), of: id)
                return self.attributes(of: self.node(id) ?? node)
            }
        case .chat:
            // `rsync -a` and `tar` give a folder its time and mode when its files are copied: it keeps
            // its own, and they are content.
            return change.size == nil ? .done(attributes(of: node)) : .refused(.notPermitted)
        case .root, .control, .status, .transfers, .recovered, .item:
            let isRefused = change.size != nil || change.modified != nil || change.makesWritable
            return isRefused ? .refused(.notPermitted) : .done(attributes(of: node))
        }
    }

    private func change(
        _ draft: any DraftFile, of node: Node, _ change: AttributeChange
    ) -> Answer<Attributes> {
        let isEditable = draft.state.isEditable
        // The bits themselves are not kept: a draft is 0600, whatever its copy came from.
        if change.onlyMakesWritable && !isEditable { return .refused(.notPermitted) }
        if change.size != nil && !isEditable { return .refused(.notPermitted) }
        guard change.size != nil || change.modified != nil else { return .done(attributes(of: node)) }
        return blocking {
            if let size = change.size { try draft.truncate(to: size) }
            if let time = change.modified { try draft.setModified(self.timestamp(time)) }
            return self.attributes(of: self.node(node.id) ?? node)
        }
    }

    // MARK: - Steps

    private func timestamp(_ time: AttributeChange.Time) -> Timestamp {
        switch time {
        case .now: now()
        case .at(let time): time
        }
    }

    private func refusal(ofNew name: EntryName) -> FileSystemError? {
        if name.bytes.count > EntryName.maxLength { return FileSystemError(ENAMETOOLONG) }
        return name.isValidUTF8 ? nil : FileSystemError(EILSEQ)
    }

    /// The draft behind a node while it may still be changed.
    private func editableDraft(_ node: Node) -> (any DraftFile)? {
        guard case .draft(let id) = node.content, node.folder != .recovered,
            let draft = draft(id, at: node.id),
            draft.state == .draft
        else { return nil }
        return draft
    }

    private func drop(_ draft: any DraftFile) throws {
        // Once it was, and the index could not be written.
        if draft.state != .removed { try outbox.remove(draft.id) }
        _ = try names.remove(draft: DraftID(draft.id))
        drafts.withLock { $0[DraftID(draft.id)] = nil }
    }

    /// A file that the core is taking can be taken back for good only when it is known as what it became. The core
    /// is local and answers in moments; one that hangs is waited for five seconds.
    private func unlink(
        _ draft: any DraftFile, at id: NodeID, _ name: EntryName, in folder: NodeID
    ) async -> Result<Void, FileSystemError> {
        let deadline = ContinuousClock.now + .seconds(5)
        while draft.isAtTheCore, isDraft(id), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        guard names.child(name, of: folder)?.id == id else { return .failure(.notFound) }
        let answer = isDraft(id) ? blocking { try self.drop(draft) } : unlink(name, in: folder)
        return switch answer {
        case .now(let result): result
        case .later(let work): await work()
        }
    }

    private func isDraft(_ id: NodeID) -> Bool {
        if case .draft = names.node(id)?.content { true } else { false }
    }

    private func takeBack(_ item: ChatItem, _ file: ChatFile) async -> Result<Void, FileSystemError> {
        do {
            try await core.cancelFile(file.id)
        } catch {
            return .failure(FileSystemError(error))
        }
        return await delete(item, mode: .internal)
    }

    private func delete(_ item: ChatItem, mode: DeletionMode) async -> Result<Void, FileSystemError> {
        do {
            if item.direction == .sent {
                try await ThreadPool.shared.run { () throws(OutboxError) in try self.outbox.synchronise() }
            }
            try await core.deleteItems([item.id], in: item.chat, mode: mode)
        } catch let error as ChatError where error.code == .noSuchItem {
            // Somebody else was faster.
        } catch {
            return .failure(FileSystemError(error))
        }
        if let file = item.file { contents.remove(file.id, atOnce: false) }
        do {
            _ = try await ThreadPool.shared.run { try self.names.remove([item.id]) }
            return .success(())
        } catch {
            return .failure(FileSystemError(error))
        }
    }
}

extension DraftFile {
    /// Being handed over, or handed over and not known as an item yet.
    fileprivate var isAtTheCore: Bool { [.sending, .sent].contains(state) }
}

extension AttributeChange {
    var makesWritable: Bool { permissions.map { $0 & 0o222 != 0 } ?? false }

    /// `chmod u+w` of an entry that shows 0400. On own entries any other mode is one that a tool
    /// carries over from the file it has copied (rsync at its second run too): accepted, not kept.
    var onlyMakesWritable: Bool { permissions.map { $0 & 0o777 == 0o600 } ?? false }
}

extension Answer {
    /// The same answer, made into another once it is there.
    func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Result<Other, FileSystemError>
    ) -> Answer<Other> {
        switch self {
        case .now(let result): .now(result.flatMap(transform))
        case .later(let work): .later { await work().flatMap(transform) }
        }
    }
}
