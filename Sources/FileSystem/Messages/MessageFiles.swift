import Base
import ChatCore
import Namespace
import Posix

/// Implements `.chatfs/messages`: the log of each chat as a file named after its folder. Stores only the length of a
/// log; reads go to the core. Thread-safe.
final class MessageFiles: Sendable {
    private let names: Namespace
    private let core: any ChatCore
    private let kernel: KernelConnection
    private let logs = Lock<[ChatReference: MessageLog]>([:])
    private let log = Log("filesystem")

    init(names: Namespace, core: any ChatCore, kernel: KernelConnection) {
        self.names = names
        self.core = core
        self.kernel = kernel
    }

    /// Loads the logs' lengths when the mount begins, after the chats are shown.
    func load() async {
        do throws(ChatError) {
            let found = try await core.messageLogs()
            logs.withLock { logs in
                logs.merge(found) { one, other in
                    (one.size, one.modified) > (other.size, other.modified) ? one : other
                }
            }
        } catch {
            log.warning("message logs not listed, each appears when it grows: error=\(error.sentence)")
        }
    }

    // MARK: - Lookup

    func child(_ name: EntryName) -> Node? {
        guard let folder = MessageNodes.folder(named: name, in: names) else { return nil }
        return node(folder)
    }

    /// Returns entries in ascending order of number.
    func list(after last: NodeID?, count: Int) -> [Node] {
        let nodes = logs.withLock { Array($0.keys) }.compactMap { chat in
            names.node(of: chat).map { MessageNodes.node(of: chat, $0) }
        }
        let rest = nodes.filter { node in last.map { node.id > $0 } ?? true }
        return Array(rest.sorted { $0.id < $1.id }.prefix(count))
    }

    /// Returns attributes without reading the log.
    func attributes(of node: Node, _ chat: ChatReference) -> Attributes {
        let log = logs.withLock { $0[chat] } ?? MessageLog(size: 0, modified: Timestamp(seconds: 0))
        return Attributes(
            id: node.id, isFolder: false, permissions: 0o400, size: log.size, blocks: log.size / 512 + 1,
            modified: log.modified, links: 1, keeping: .untilNotice)
    }

    /// Returns nil for a chat without messages.
    private func node(_ folder: Node) -> Node? {
        guard case .chat(let chat) = folder.content, logs.withLock({ $0[chat.reference] }) != nil else {
            return nil
        }
        return MessageNodes.node(of: chat.reference, folder)
    }

    private func node(of chat: ChatReference) -> Node? { names.node(of: chat).flatMap(node) }

    // MARK: - Events

    /// Records that a log has a new line or a redacted one.
    func grew(_ chat: ChatReference, _ log: MessageLog) {
        let isNew = logs.withLock { logs in
            let before = logs[chat]
            // Reported twice when the mount begins.
            if let before, (before.size, before.modified) >= (log.size, log.modified) { return false }
            logs[chat] = log
            return before == nil
        }
        guard let node = node(of: chat) else { return }
        kernel.notify(isNew ? .entry(node.name, in: .messages) : .attributes(node.id))
    }

    /// Runs `change`, which may rename or remove the chat's log, and notifies the kernel.
    func follow(_ chat: ChatReference, isRemoved: Bool = false, _ change: () async throws -> Void)
        async throws
    {
        let before = node(of: chat)?.name
        try await change()
        if isRemoved { logs.withLock { _ = $0.removeValue(forKey: chat) } }
        let after = node(of: chat)?.name
        guard before != after else { return }
        for case let name? in [before, after] { kernel.notify(.entry(name, in: .messages)) }
    }
}

/// The log of a chat. Reads go to the core, because the log may grow while it is open.
struct MessageLogSource: OpenSource {
    private let chat: ChatReference
    private let core: any ChatCore

    init(_ chat: ChatReference, in core: any ChatCore) {
        self.chat = chat
        self.core = core
    }

    var keepsPages: Bool { false }
    var bypassesPages: Bool { true }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        guard !buffer.isEmpty else { return .filled(0) }
        let count = buffer.count
        return .later { [chat, core] buffer in
            do throws(ChatError) {
                let bytes = try await core.messageLog(of: chat, from: offset, count: count)
                buffer.bytes.copyBytes(from: bytes.prefix(buffer.bytes.count))
                return .success(min(bytes.count, buffer.bytes.count))
            } catch {
                return .failure(FileSystemError(error))
            }
        }
    }
}
