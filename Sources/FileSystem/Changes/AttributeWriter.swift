import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Implements chmod, chown, truncate and utimensat. Stateless; thread-safe.
struct AttributeWriter: Sendable {
    let names: Namespace
    let nodes: NodeLookup
    let reader: AttributeReader
    let pasted: PastedChanges
    let outbox: any DraftStore
    let clock: any WallClock

    /// Applies a change and replies with the new attributes.
    /// - Parameters:
    ///   - handle: The open file of ftruncate(2) or fchmod(2); nil for a change by path.
    ///   - thread: The calling thread; 0 if unknown.
    func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle?, by thread: pid_t
    ) -> Answer<Attributes> {
        guard let node = nodes.node(id) else { return .refused(.gone) }
        if change.changesOwner {
            let draft: DraftID? = if case .draft(let draft) = node.content { draft } else { nil }
            return .waiting { [outbox] in
                await ThreadPool.shared.run { outbox.note(.owner(draft: draft?.rawValue), by: thread) }
                throw FileSystemError.notPermitted
            }
        }
        switch node.content {
        case .draft(let draft):
            guard let file = nodes.draft(draft, at: id) else { return .refused(.gone) }
            return self.change(file, of: node, change, through: handle, by: thread)
        case .item(let item) where item.direction == .sent:
            // Copy tools carry over the source's mode: accepted, not stored.
            if change.size != nil { return .refused(.notPermitted) }
            guard let time = change.modified else { return .done(reader.attributes(of: node)) }
            return .blocking { [self] in
                try names.setModified(timestamp(time), of: id)
                return attributesNow(of: node)
            }
        case .chat, .pastedFolder:
            // `rsync -a` and `tar` set a folder's time and mode after copying its files. Success without effect
            // satisfies them.
            return change.size == nil ? .done(reader.attributes(of: node)) : .refused(.notPermitted)
        case .root, .control, .status, .transfers, .recovered, .marker, .item, .thumbnails, .thumbnail,
            .messages, .messageLog:
            let isRefused = change.size != nil || change.modified != nil || change.makesWritable
            return isRefused ? .refused(.notPermitted) : .done(reader.attributes(of: node))
        }
    }

    private func change(
        _ draft: any DraftFile, of node: Node, _ change: AttributeChange, through handle: FileHandle?,
        by thread: pid_t
    ) -> Answer<Attributes> {
        // Recovered entries may be in state `draft`, but are read-only.
        let isEditable = draft.state.isEditable && node.folder != .recovered
        // Mode bits are not stored: a draft is always 0600.
        if change.onlyMakesWritable && !isEditable { return .refused(.notPermitted) }
        if change.size != nil && !isEditable { return .refused(.notPermitted) }
        guard change.size != nil || change.modified != nil else {
            return .done(reader.attributes(of: node))
        }
        let opening = handle.flatMap { $0.source.draft?.id == draft.id ? $0.source.draftOpening : nil }
        return .blocking { [self] in
            if let size = change.size {
                let isPart = PastedTree.holds(node.id)
                if isPart { try pasted.willWrite(node.id) }
                try draft.truncate(to: size, through: opening, by: thread)
                if isPart { pasted.wrote(node.id) }
            }
            if let time = change.modified { try draft.setModified(timestamp(time)) }
            return attributesNow(of: node)
        }
    }

    private func attributesNow(of node: Node) -> Attributes {
        reader.attributes(of: nodes.node(node.id) ?? node)
    }

    private func timestamp(_ time: AttributeChange.Time) -> Timestamp {
        switch time {
        case .now: clock.now()
        case .at(let time): time
        }
    }
}

extension AttributeChange {
    fileprivate var makesWritable: Bool { permissions.map { $0 & 0o222 != 0 } ?? false }

    /// True for `chmod u+w` on a read-only entry.
    fileprivate var onlyMakesWritable: Bool { permissions.map { $0 & 0o777 == 0o600 } ?? false }
}
