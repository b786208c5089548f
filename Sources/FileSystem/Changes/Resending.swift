import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// `chatfs retry` of a message that the core has and whose upload it gave up. No core takes up such an upload
/// again: the official one has no command for it, and has forgotten some of them altogether. Has no state of its
/// own.
final class Resending: Sendable {
    private let names: Namespace
    private let outbox: any DraftStore
    private let core: any ChatCore
    private let contents: any ContentStore
    private let tree: TreeUpdater
    private let log = Log("filesystem")

    init(
        names: Namespace, outbox: any DraftStore, core: any ChatCore, contents: any ContentStore,
        tree: TreeUpdater
    ) {
        self.names = names
        self.outbox = outbox
        self.core = core
        self.contents = contents
        self.tree = tree
    }

    /// The file goes out with a new message, and the old one goes, for the others too: they could never read
    /// it. The entry keeps its name, number and time. After a break it may be asked for again: what was sent
    /// is not sent twice.
    func sendAgain(_ item: ChatItem) async throws {
        guard let file = item.file, case .sndError = file.status else { throw FileSystemError.notPermitted }
        let location =
            if let source = file.source { source } else { try await core.location(of: file.id) }
        guard let location else {
            throw ChatError(.noSuchFile, "The file is not on this machine any more: copy it in again.")
        }
        let sent = try await outbox.sendAgain(try await whole(item), from: location)
        try await tree.change { [names] in try names.item(item, became: sent) }
        contents.remove(file.id, atOnce: false)
        await withdraw(item)
        // It may have moved on before its entry was known.
        try await tree.show([(try? await core.item(sent.id, in: sent.chat)) ?? sent])
    }

    /// With all of its caption, of which an entry may have the beginning.
    private func whole(_ item: ChatItem) async throws(ChatError) -> ChatItem {
        guard item.mayBeShortened else { return item }
        var whole = item
        whole.content.text = try await core.item(item.id, in: item.chat).content.text
        return whole
    }

    /// Older than a day, or where that is not allowed, it is deleted for this user alone.
    private func withdraw(_ item: ChatItem) async {
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: .broadcast)
        } catch {
            do throws(ChatError) {
                try await core.deleteItems([item.id], in: item.chat, mode: .internal)
            } catch {
                log.error(
                    "a message was sent again, and the one before it could not be deleted: \(error.sentence)")
            }
        }
    }
}
