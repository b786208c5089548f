import Base
import ChatCore

/// A core in memory controlled by the test. A sent message becomes an item at once, and events match those of real
/// cores.
final class ScriptedCore: ChatCore {
    struct State {
        var chats: [Chat] = []
        var items: [ChatItem] = []
        var streams: [AsyncStream<ChatEvent>.Continuation] = []
        var sent: [ComposedMessage] = []
        var cancelled: [FileID] = []
        var deleted: [(ItemID, DeletionMode)] = []
        var nextID: Int64 = 1
        /// The error of all sends; nil to accept.
        var refusal: ChatError?
        /// Called when the items of a chat are requested.
        var whenAsked: @Sendable (ChatReference) async throws(ChatError) -> Void = { _ in }
        /// Called when a message is handed over.
        var whenHanded: @Sendable () async -> Void = {}
        /// Called when a file is to be cancelled or a message deleted.
        var whenRemoving: @Sendable () async -> Void = {}
        /// Items whose messages were marked as read.
        var opened: [ItemID] = []
        var receivesWhatIsClaimed = false
        /// Status of sent files.
        var sentStatus = FileStatus.sndComplete
        /// The chats' logs, and the number of reads.
        var logs: [ChatReference: [UInt8]] = [:]
        var logReads = 0
        /// The number of reads of the unsettled items, and their error.
        var unsettledReads = 0
        var unsettledRefusal: ChatError?
        /// The number of reads of single items, and their error.
        var itemReads = 0
        var itemRefusal: ChatError?
    }

    let state = Lock(State())
    let profile = Profile(id: 1, displayName: "alice")
    let limits = ChatLimits(maxFileSize: FilePolicy.xftpLimit)
    let stagingFolder: String

    init(stagingFolder: String, chats: [Chat]) {
        self.stagingFolder = stagingFolder
        state.withLock { $0.chats = chats }
    }

    /// Adds a received item without an event.
    func received(
        _ name: String, in chat: ChatReference, size: UInt64,
        status: FileStatus = .rcvInvitation(described: true),
        content: MessageContent = MessageContent(kind: .file),
        time: Timestamp = Timestamp(seconds: 1_700_000_000)
    ) -> ChatItem {
        state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            let file = ChatFile(
                id: FileID(id), name: name, size: size, status: status, transport: .xftp,
                expires: Timestamp(seconds: 1_700_172_800))
            let item = ChatItem(
                id: ItemID(id), chat: chat, direction: .received, sender: "bob", time: time,
                content: content, file: file)
            state.items.append(item)
            return item
        }
    }

    func tell(_ event: ChatEvent) {
        for stream in state.withLock({ $0.streams }) { stream.yield(event) }
    }

    var opened: [ItemID] { state.withLock { $0.opened } }
    var receivesWhatIsClaimed: Bool { state.withLock { $0.receivesWhatIsClaimed } }
    func noteOpened(_ item: ItemID, in chat: ChatReference) { state.withLock { $0.opened.append(item) } }

    func events() -> AsyncStream<ChatEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChatEvent.self)
        state.withLock { $0.streams.append(continuation) }
        return stream
    }

    func chats() async throws(ChatError) -> [Chat] { state.withLock { $0.chats } }

    func items(of chat: ChatReference, before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        try await state.withLock { $0.whenAsked }(chat)
        let items = state.withLock { $0.items }
        let older = items.filter { item in item.chat == chat && before.map { item.id < $0 } ?? true }
        return Array(older.sorted { $0.id > $1.id }.prefix(count))
    }

    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        try state.withLock { state throws(ChatError) in
            state.itemReads += 1
            if let refusal = state.itemRefusal { throw refusal }
            guard let item = state.items.first(where: { $0.id == id }) else {
                throw ChatError(.noSuchItem, "There is no such item.")
            }
            return item
        }
    }

    func item(of file: FileID) async throws(ChatError) -> ChatItem? {
        state.withLock { $0.items.first { $0.file?.id == file } }
    }

    func itemCount() async throws(ChatError) -> Int { state.withLock { $0.items.count { $0.file != nil } } }

    func unsettledItems() async throws(ChatError) -> [ChatItem] {
        try state.withLock { state throws(ChatError) in
            state.unsettledReads += 1
            if let refusal = state.unsettledRefusal { throw refusal }
            return state.items.filter { item in
                switch item.file?.status {
                case .sndComplete, .sndCancelled, .rcvInvitation, .rcvComplete, .rcvCancelled, nil: false
                default: true
                }
            }
        }
    }

    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        await state.withLock { $0.whenHanded }()
        return try state.withLock { state throws(ChatError) in
            if let refusal = state.refusal { throw refusal }
            let id = state.nextID
            state.nextID += 1
            let file = ChatFile(
                id: FileID(id), name: message.fileName, size: message.size,
                status: state.sentStatus, transport: .inline, source: message.source)
            let item = ChatItem(
                id: ItemID(id), chat: chat, direction: .sent, sender: "alice",
                time: SystemWallClock().now(), content: message.content, file: file)
            state.items.append(item)
            state.sent.append(message)
            return item
        }
    }

    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        await state.withLock { $0.whenRemoving }()
        state.withLock { state in
            state.items.removeAll { items.contains($0.id) }
            state.deleted += items.map { ($0, mode) }
        }
        tell(.chatItemsDeleted(items.map { (chat, $0) }, .deleted))
    }

    func cancelFile(_ file: FileID) async throws(ChatError) {
        await state.withLock { $0.whenRemoving }()
        state.withLock { $0.cancelled.append(file) }
    }

    // MARK: - Texts

    func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] {
        state.withLock { $0.logs }.mapValues(Self.log)
    }

    func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] {
        state.withLock { state in
            state.logReads += 1
            return Array((state.logs[chat] ?? []).dropFirst(Int(offset)).prefix(count))
        }
    }

    /// Appends a line to a log.
    func append(_ line: String, to chat: ChatReference) {
        let log = state.withLock { state in
            state.logs[chat, default: []] += Array(line.utf8)
            return state.logs[chat] ?? []
        }
        tell(.messageLogGrew(chat, Self.log(log)))
    }

    private static func log(_ bytes: [UInt8]) -> MessageLog {
        MessageLog(size: UInt64(bytes.count), modified: Timestamp(seconds: 1_700_000_000))
    }

    // Unused, because the tests provide contents themselves.
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? { nil }
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation { staged }
    func abandonClaim(_ file: FileID, problem: FileProblem?) async {}
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID { FileID(1) }
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        FileID(1)
    }
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        throw ChatError(.noSuchFile, "There is no such file.")
    }
}
