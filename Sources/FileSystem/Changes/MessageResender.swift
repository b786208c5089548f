import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// Implements `chatfs retry` for a message whose upload the core gave up. No core resumes such an upload: the official
/// core has no command for it, and loses some uploads altogether. Thread-safe.
final class MessageResender: Sendable {
    private let names: Namespace
    private let outbox: any DraftStore
    private let core: any ChatCore
    private let contents: any ContentStore
    private let tree: TreeUpdater
    private let timeout: Duration
    /// Messages that are being sent again; a repeated request joins.
    private let running = Lock<[ItemID: Task<Void, any Error>]>([:])
    private let log = Log("filesystem")

    /// - Parameter timeout: Maximum wait for the core.
    init(
        names: Namespace, outbox: any DraftStore, core: any ChatCore, contents: any ContentStore,
        tree: TreeUpdater, timeout: Duration
    ) {
        self.timeout = timeout
        self.names = names
        self.outbox = outbox
        self.core = core
        self.contents = contents
        self.tree = tree
    }

    /// Sends the file in a new message and deletes the old one for all members, who could never read it. The entry
    /// keeps its name, inode number and time. Idempotent: a repeated call after a crash does not send twice.
    func sendAgain(_ item: ChatItem) -> Answer<Void> {
        guard let file = item.file, case .sndError = file.status else { return .refused(.notPermitted) }
        return .waiting(
            atMost: timeout, or: "The SimpleX core has not answered yet. The file is sent again when it does."
        ) { [self] in
            try await running.withLock { running in
                if let task = running[item.id] { return task }
                let task = Task {
                    defer { self.running.withLock { $0[item.id] = nil } }
                    try await self.sendAgain(item, file)
                }
                running[item.id] = task
                return task
            }.value
        }
    }

    private func sendAgain(_ item: ChatItem, _ file: ChatFile) async throws {
        let location =
            if let source = file.source { source } else { try await core.location(of: file.id) }
        guard let location else {
            throw ChatError(.noSuchFile, "The file is not on this machine any more: copy it in again.")
        }
        let sent = try await outbox.sendAgain(try await whole(item), from: location)
        try await tree.change { [names] in try names.item(item, became: sent) }
        contents.remove(file.id, atOnce: false)
        await withdraw(item)
        // The item may have changed before its entry was known.
        try await tree.show([(try? await core.item(sent.id, in: sent.chat)) ?? sent])
    }

    /// Returns the item with its complete caption; an entry may hold only its beginning.
    private func whole(_ item: ChatItem) async throws(ChatError) -> ChatItem {
        guard item.mayBeShortened else { return item }
        var whole = item
        whole.content.text = try await core.item(item.id, in: item.chat).content.text
        return whole
    }

    /// Deletes the message for everyone, or only for this user if it is older than a day or that is not permitted.
    private func withdraw(_ item: ChatItem) async {
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: .broadcast)
        } catch {
            do throws(ChatError) {
                try await core.deleteItems([item.id], in: item.chat, mode: .internal)
            } catch {
                log.error("old message not deleted after a resend: error=\(error.sentence)")
            }
        }
    }
}
