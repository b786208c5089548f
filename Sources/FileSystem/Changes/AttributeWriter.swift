import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// chmod, chown, truncate, utimensat. Has no state of its own. Any thread.
final class AttributeWriter: Sendable {
    private let names: Namespace
    private let nodes: NodeLookup
    private let reader: AttributeReader
    private let pasted: PastedChanges
    private let outbox: any DraftStore
    private let clock: any WallClock

    init(
        names: Namespace, nodes: NodeLookup, reader: AttributeReader, pasted: PastedChanges,
        outbox: any DraftStore, clock: any WallClock
    ) {
        self.outbox = outbox
        self.pasted = pasted
        self.names = names
        self.nodes = nodes
        self.reader = reader
        self.clock = clock
    }

    /// Answers with the attributes that the node has then.
    /// - Parameters:
    ///   - handle: what a length is set through; nil where the node is named.
    ///   - thread: who asks, 0 when the kernel does not say.
    func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle?, by thread: pid_t
    ) -> Answer<Attributes> {
        guard let node = nodes.node(id) else { return .refused(.gone) }
        if change.changesOwner {
            return .waiting { [outbox] in
                await ThreadPool.shared.run { outbox.note(.attributes, by: thread) }
                throw FileSystemError.notPermitted
            }
        }
        switch node.content {
        case .draft(let draft):
            guard let file = nodes.draft(draft, at: id) else { return .refused(.gone) }
            return self.change(file, of: node, change, through: handle, by: thread)
        case .item(let item) where item.direction == .sent:
            // A mode is one that a tool carries over from the file it has copied: accepted, not kept.
            if change.size != nil { return .refused(.notPermitted) }
            guard let time = change.modified else { return .done(reader.attributes(of: node)) }
            return .blocking { [self] in
                try names.setModified(timestamp(time), of: id)
                return attributesNow(of: node)
            }
        case .chat, .pastedFolder:
            // `rsync -a` and `tar` give a folder its time and mode when its files are copied: it keeps
            // its own, and they are content.
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
        // What lies there because its chat is gone may be a draft still.
        let isEditable = draft.state.isEditable && node.folder != .recovered
        // The bits themselves are not kept: a draft is 0600, whatever its copy came from.
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

    /// `chmod u+w` of what is not writable any more.
    fileprivate var onlyMakesWritable: Bool { permissions.map { $0 & 0o777 == 0o600 } ?? false }
}
