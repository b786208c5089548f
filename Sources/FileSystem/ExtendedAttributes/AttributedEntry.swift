import ChatCore
import Glibc
import Namespace
import Outbox

/// An entry as extended attributes look at it and change it.
struct AttributedEntry: Sendable {
    let node: Node
    /// Display name of the profile that is mounted.
    let profileName: String
    private let nodes: NodeLookup
    private let entries: EntryReporter
    private let drafts: DraftChanges
    private let resending: Resending

    init(
        _ node: Node, profileName: String, nodes: NodeLookup, entries: EntryReporter, drafts: DraftChanges,
        resending: Resending
    ) {
        self.node = node
        self.profileName = profileName
        self.nodes = nodes
        self.entries = entries
        self.drafts = drafts
        self.resending = resending
    }

    // MARK: - Looking; each answers nil where the entry is no such thing

    /// State, progress and problem of a file.
    var report: EntryReport? { entries.report(on: node) }

    /// Whether its file is kept on this machine (`chatfs pin`).
    var isPinned: Bool { entries.isPinned(node) }

    var item: ChatItem? { if case .item(let item) = node.content { item } else { nil } }

    var chat: Chat? { if case .chat(let chat) = node.content { chat } else { nil } }

    var draft: DraftSnapshot? { draftFile?.snapshot }

    private var draftFile: (any DraftFile)? {
        if case .draft(let id) = node.content { nodes.draft(id, at: node.id) } else { nil }
    }

    /// Whether this profile made it: a draft or a sent item.
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

    /// Of drafts only.
    func setCaption(_ bytes: [UInt8]) -> Answer<Void> {
        guard case .draft = node.content else { return .refused(.notPermitted) }
        guard let file = draftFile else { return .refused(.gone) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .refused(FileSystemError(EILSEQ))
        }
        guard file.state == .draft else { return .refused(.notPermitted) }
        return .blocking { try file.setCaption(text) }
    }

    /// Sends once more what was refused, is unsure or failed on its way, or what may be unfinished.
    func sendOnceMore() -> Answer<Void> {
        switch node.content {
        case .pastedFolder: return drafts.retry(folder: node.id)
        case .draft:
            // A part goes with its folder, as it is.
            if PastedTree.holds(node.id) { return drafts.retry(folder: node.id) }
            guard let file = draftFile else { return .refused(.gone) }
            return drafts.retry(file)
        case .item(let item):
            guard case .sndError = item.file?.status else { return .refused(.notPermitted) }
            return .waiting { [resending] in try await resending.sendAgain(item) }
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .thumbnails, .thumbnail,
            .messages, .messageLog:
            return .refused(.notPermitted)
        }
    }
}
