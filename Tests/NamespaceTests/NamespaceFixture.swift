import Base
import ChatCore
import Store
import TestSupport

@testable import Namespace

/// A namespace with a real index database in its own folder, which can be remounted.
final class NamespaceFixture {
    private let temporary: TemporaryFolder
    var folder: String { temporary.path }
    var names: Namespace

    static let alice = ChatReference.direct(1)
    static let bob = ChatReference.direct(2)
    static let notes = ChatReference.notes(3)

    init() throws {
        temporary = try TemporaryFolder()
        names = try Namespace(path: temporary.path("names.sqlite"))
        try showChats()
    }

    func showChats() throws {
        _ = try names.show([
            Self.chat(Self.alice, "Alice"), Self.chat(Self.bob, "Bob"), Self.chat(Self.notes, "Notes"),
        ])
    }

    /// Remounts: memory is lost, the index is not.
    func remount() throws {
        names = try Namespace(path: folder + "/names.sqlite")
        try showChats()
    }

    /// Changes the index without the namespace.
    func changeIndex(_ body: (Connection) throws -> Void) throws {
        names.close()
        let database = try Database(path: folder + "/names.sqlite", migrations: NameIndex.migrations)
        defer { database.close() }
        try database.transaction { try body($0) }
    }

    static func chat(_ reference: ChatReference, _ name: String) -> Chat {
        Chat(reference: reference, displayName: name, updatedAt: Timestamp(seconds: 1_700_000_000))
    }

    static func item(
        _ id: Int64, _ name: String, in chat: ChatReference = alice, kind: MessageContent.Kind = .file
    ) -> ChatItem {
        ChatItem(
            id: ItemID(id), chat: chat, direction: .received, sender: "Alice",
            time: Timestamp(seconds: 1_700_000_000 + id), content: MessageContent(kind: kind),
            file: ChatFile(
                id: FileID(id), name: name, size: 10, status: .rcvInvitation(described: true),
                transport: .xftp))
    }

    func folder(_ chat: ChatReference) -> NodeID { names.node(of: chat)?.id ?? NodeID(0) }

    /// Names in a chat's folder, in the order of listings.
    func list(_ chat: ChatReference = alice) -> [String] {
        names.children(of: folder(chat), after: nil, count: .max).map(\.name.description)
    }
}
