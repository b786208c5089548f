import Base
import ChatCore
import Glibc
import TestSupport

/// A core with a contact and a group of the same name, which accepts every message once per mark.
final class AnsweringCore: ChatCore {
    let profile = Profile(id: 1, displayName: "alice")
    let limits = ChatLimits(maxFileSize: 1_000)
    let stagingFolder = "/staging"
    let sent = Lock<[(message: ComposedMessage, chat: ChatReference)]>([])
    let isUnsure = Lock(false)
    let calls = Lock(0)
    /// Maximum number of concurrent sends.
    let most = Lock(0)
    /// Contacts that replace its two chats.
    let names = Lock<[String]>([])
    /// Actions on chats.
    let deeds = Lock<[String]>([])
    /// Number of begun files without a chat, from 101, and the cancelled ones.
    let files = Lock<Int64>(0)
    let cancelled = Lock<[FileID]>([])
    private let hub = EventHub()
    private let gate = Lock((isHeld: false, waiting: 0, underWay: [String: Int]()))

    /// Delays every send until `release`.
    func hold() { gate.withLock { $0.isHeld = true } }
    func release() { gate.withLock { $0.isHeld = false } }
    /// Blocks until this number of sends wait.
    func waitUntilHeld(_ count: Int) {
        while gate.withLock({ $0.waiting }) < count { usleep(1_000) }
    }

    func chats() async throws(ChatError) -> [Chat] {
        let time = Timestamp(seconds: 0)
        let contacts = names.withLock { $0 }.enumerated().map { number, name in
            Chat(reference: .direct(Int64(number + 1)), displayName: name, updatedAt: time)
        }
        if !contacts.isEmpty { return contacts }
        return [
            Chat(reference: .direct(7), displayName: "bob", updatedAt: time),
            Chat(reference: .group(3), displayName: "bob", updatedAt: time, isNamedByUser: true),
            Chat(reference: .notes(1), displayName: "Saved notes", updatedAt: time),
            Chat(
                reference: .group(4), displayName: "closed", updatedAt: time,
                sendingRefused: "You may not send into this group."),
        ]
    }

    /// The folder names of a mount.
    var folderName: @Sendable (ChatReference) -> String? {
        { reference in
            switch reference {
            case .direct(7) where self.names.withLock({ $0.isEmpty }): "bob"
            case .group(3): "bob (2)"
            case .group(4): "closed"
            case .direct(let number): self.names.withLock { $0.dropFirst(Int(number) - 1).first }
            case .notes: "Saved notes"
            case .links, .group: nil
            }
        }
    }

    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        calls.withLock { $0 += 1 }
        let underWay = gate.withLock { gate in
            gate.waiting += 1
            gate.underWay[message.id, default: 0] += 1
            return gate.underWay[message.id, default: 0]
        }
        defer { gate.withLock { $0.underWay[message.id, default: 0] -= 1 } }
        most.withLock { $0 = max($0, underWay) }
        while gate.withLock({ $0.isHeld }) { try? await Task.sleep(for: .milliseconds(1)) }
        if isUnsure.withLock({ $0 }) { throw ChatError(.sendingUnsure, "It cannot be known.") }
        guard message.size <= limits.maxFileSize else { throw ChatError(.tooLarge, "The file is too large.") }
        let number = sent.withLock { sent in
            if !sent.contains(where: { $0.message.id == message.id }) { sent.append((message, chat)) }
            return sent.count
        }
        return ChatItem(
            id: ItemID(Int64(number)), chat: chat, direction: .sent, sender: "alice",
            time: Timestamp(seconds: 0), content: message.content, file: nil)
    }

    func events() -> AsyncStream<ChatEvent> { hub.listen() }
    func tell(_ event: ChatEvent) { hub.tell(event) }

    /// Waits for the next file without a chat and returns its number.
    func begun() async throws -> FileID {
        try await wait(until: "a transfer has begun") { files.withLock { $0 } > 0 }
        return FileID(100 + files.withLock { $0 })
    }

    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        guard path.hasPrefix("/") else {
            throw ChatError(.invalidCommand, "Only a regular file can be uploaded.")
        }
        return FileID(
            100
                + files.withLock { files in
                    files += 1
                    return files
                })
    }
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        try await uploadStandaloneFile(path)
    }
    func cancelStandaloneFile(_ file: FileID) async throws(ChatError) {
        cancelled.withLock { $0.append(file) }
    }

    func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError) {
        deeds.withLock { $0.append("rename \(chat) \(name)") }
    }
    func leaveChat(_ chat: ChatReference) async throws(ChatError) {
        deeds.withLock { $0.append("leave \(chat)") }
    }
    func deleteChat(_ chat: ChatReference) async throws(ChatError) {
        deeds.withLock { $0.append("delete \(chat)") }
    }

    private static let foreign = ChatError(.invalidCommand, "The control socket only sends.")
    /// Items of the folder of links in any order; other chats are empty.
    let links = Lock<[ChatItem]>([])

    func items(of chat: ChatReference, before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        guard chat == .links else { return [] }
        let older = links.withLock { $0 }.filter { item in before.map { item.id < $0 } ?? true }
        return Array(older.sorted { $0.id > $1.id }.prefix(count))
    }
    func addLink(
        _ link: String, named name: String?, approvingRelays: Bool
    ) async throws(ChatError) -> ChatItem {
        deeds.withLock { $0.append("add \(link) \(name ?? "-") \(approvingRelays)") }
        guard link.hasPrefix("https://") else { throw ChatError(.invalidCommand, "This is no link.") }
        return LinkSocketTests.item(99, name ?? "theirs", .rcvInvitation(described: true), link: link)
    }
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem { throw Self.foreign }
    func item(of file: FileID) async throws(ChatError) -> ChatItem? { throw Self.foreign }
    func itemCount() async throws(ChatError) -> Int { throw Self.foreign }
    func unsettledItems() async throws(ChatError) -> [ChatItem] { throw Self.foreign }
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        guard chat == .links, mode == .internal else { throw Self.foreign }
        deeds.withLock { $0.append("delete \(items.map(\.rawValue))") }
        links.withLock { $0.removeAll { items.contains($0.id) } }
    }
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.foreign }
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.foreign }
    func cancelFile(_ file: FileID) async throws(ChatError) { throw Self.foreign }
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        throw Self.foreign
    }
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation { throw Self.foreign }
    func abandonClaim(_ file: FileID, problem: FileProblem?) async {}
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile { throw Self.foreign }
}
