import ChatCore
import Glibc
import Namespace
import Outbox

/// An entry as seen and changed through extended attributes.
struct AttributedEntry: Sendable {
    let node: Node
    let attributes: ExtendedAttributes

    // MARK: - Reading; nil if the entry is of another kind

    /// Display name of the mounted profile.
    var profileName: String { attributes.profile.displayName }

    /// State, progress and problem of a file.
    var report: EntryReport? { attributes.entries.report(on: node) }

    var mediaType: MediaType { attributes.types.type(of: node) }

    /// True if the file is kept on this machine (`chatfs pin`).
    var isPinned: Bool { attributes.entries.isPinned(node) }

    var item: ChatItem? { if case .item(let item) = node.content { item } else { nil } }

    var chat: Chat? { if case .chat(let chat) = node.content { chat } else { nil } }

    /// True for a received file whose decrypted bytes, or the core's copy, can be deleted from this machine.
    var canBeFreed: Bool {
        guard item?.direction == .received, let state = report?.state else { return false }
        guard state == .stored, case .chat(let chat)? = attributes.nodes.node(node.folder)?.content else {
            return state == .hydrated
        }
        return chat.supportedActions.contains(.free)
    }

    var draft: DraftSnapshot? { draftFile?.snapshot }

    private var draftFile: (any DraftFile)? {
        if case .draft(let id) = node.content { attributes.nodes.draft(id, at: node.id) } else { nil }
    }

    /// True for drafts and sent items.
    var isOwn: Bool {
        switch node.content {
        case .draft, .pastedFolder: true
        case .item(let item): item.direction == .sent
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .thumbnails, .thumbnail,
            .messages, .messageLog:
            false
        }
    }

    // MARK: - Changing

    /// Sets the caption of a draft. Other entries are refused.
    func setCaption(_ bytes: [UInt8]) -> Answer<Void> {
        guard case .draft = node.content else { return .refused(.notPermitted) }
        guard let file = draftFile else { return .refused(.gone) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .refused(FileSystemError(EILSEQ))
        }
        guard file.state == .draft else { return .refused(.notPermitted) }
        return .blocking { try file.setCaption(text) }
    }

    /// Retries a file that was refused, is unsure, failed or may be unfinished.
    func sendOnceMore() -> Answer<Void> {
        switch node.content {
        case .pastedFolder: return attributes.drafts.retry(folder: node.id)
        case .draft:
            // A part is sent with its folder, as it is.
            if PastedTree.holds(node.id) { return attributes.drafts.retry(folder: node.id) }
            guard let file = draftFile else { return .refused(.gone) }
            return attributes.drafts.retry(file)
        case .item(let item): return attributes.resender.sendAgain(item)
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .thumbnails, .thumbnail,
            .messages, .messageLog:
            return .refused(.notPermitted)
        }
    }
}
