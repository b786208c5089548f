import Base
import ChatCore
import Glibc

/// An extended attribute: its name, its value for an entry, and the effect of setting it.
///
/// `all` lists the attributes. A new attribute needs an element there and a row in `docs/reference/filesystem.md`; a test compares
/// the two. A value must come from memory, because it is read on a request thread.
struct ExtendedAttribute: Sendable {
    let name: String
    /// Returns nil if the entry has no such attribute.
    let value: @Sendable (AttributedEntry) -> String?
    /// Called for drafts and sent items only; other entries are refused with EPERM before. If nil, values are accepted
    /// and dropped, so that copy tools do not fail.
    let set: (@Sendable (AttributedEntry, [UInt8]) -> Answer<Void>)?

    init(
        _ name: String, set: (@Sendable (AttributedEntry, [UInt8]) -> Answer<Void>)? = nil,
        value: @escaping @Sendable (AttributedEntry) -> String?
    ) {
        self.name = name
        self.set = set
        self.value = value
    }

    static let all: [ExtendedAttribute] = [
        // State.
        .init("user.chatfs.state") { $0.report?.state.rawValue },
        .init("user.chatfs.progress") { $0.report.map { "\($0.progress)" } },
        .init("user.chatfs.error") { entry in
            entry.chat.flatMap { $0.sendingRefused ?? $0.verification.warning } ?? entry.report?.problem
        },
        // Message.
        .init("user.chatfs.transport") { $0.item?.file?.transport.rawValue },
        .init("user.chatfs.sender") { entry in
            if entry.draft != nil { return entry.profileName }
            // Links have no sender.
            return entry.item.flatMap { $0.sender.isEmpty ? nil : $0.sender }
        },
        .init("user.chatfs.direction") { entry in
            if entry.draft != nil { return "sent" }
            return entry.item.map { $0.direction == .sent ? "sent" : "received" }
        },
        .init("user.chatfs.item-id") { $0.item.map { "\($0.id.rawValue)" } },
        .init("user.chatfs.file-id") { ($0.item?.file?.id.rawValue).map { "\($0)" } },
        .init("user.chatfs.expires") { ($0.item?.relayExpiry?.seconds).map { "\($0)" } },
        .init("user.chatfs.chat") { $0.chat?.reference.description },
        .init("user.chatfs.actions") { entry in
            if let chat = entry.chat { return chat.actions.map(\.rawValue).joined(separator: " ") }
            return entry.canBeFreed ? ChatAction.free.rawValue : nil
        },
        .init("user.chatfs.pinned") { $0.isPinned ? "yes" : nil },
        .init("user.chatfs.link") { $0.item?.file?.link },
        .init(
            "user.chatfs.caption", set: { entry, bytes in entry.setCaption(bytes) },
            value: { entry in
                let text = entry.draft?.caption ?? entry.item?.content.text ?? ""
                return text.isEmpty ? nil : text
            }),
        .init("user.chatfs.scope") { $0.item?.isForModerators == true ? "support" : nil },
        .init("user.chatfs.deleted") { $0.item?.isDeletedBySender == true ? "by-sender" : nil },
        .init("user.chatfs.metadata") { $0.node.isCleaned ? "removed" : nil },
        // Commands.
        .init("user.chatfs.retry", set: { entry, _ in entry.sendOnceMore() }, value: { _ in nil }),
        // Desktop.
        .init("user.mime_type") {
            $0.node.isFolder ? nil : $0.mediaType.name
        },
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    static func named(_ name: String) -> ExtendedAttribute? { byName[name] }
}
