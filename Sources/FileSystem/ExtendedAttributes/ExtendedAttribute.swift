import Base
import ChatCore
import Glibc

/// One extended attribute: its name, what it says of an entry, and what setting it does.
///
/// `all` is the list. Another attribute is one more element there and one row in `docs/semantics.md`; a test compares
/// the two. A value comes from memory: it is asked for on a thread that answers requests.
struct ExtendedAttribute: Sendable {
    let name: String
    /// Nil where an entry has no such attribute.
    let value: @Sendable (AttributedEntry) -> String?
    /// For drafts and sent items only: any other entry is refused before (EPERM). Nil: what is set is accepted and
    /// dropped, so that copying tools do not complain.
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
        // Where it stands.
        .init("user.chatfs.state") { $0.report?.state.rawValue },
        .init("user.chatfs.progress") { $0.report.map { "\($0.progress)" } },
        .init("user.chatfs.error") { entry in
            entry.chat.flatMap { $0.sendingRefused ?? $0.verification.warning } ?? entry.report?.problem
        },
        // What the message says.
        .init("user.chatfs.transport") { $0.item?.file?.transport.rawValue },
        .init("user.chatfs.sender") { entry in
            if entry.draft != nil { return entry.profileName }
            // Of a link nobody knows.
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
        // What is asked for by setting it.
        .init("user.chatfs.retry", set: { entry, _ in entry.sendOnceMore() }, value: { _ in nil }),
        // What programs of the desktop ask for.
        .init("user.mime_type") {
            $0.node.isFolder ? nil : MediaType(fileName: $0.node.name.description).name
        },
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    static func named(_ name: String) -> ExtendedAttribute? { byName[name] }
}
