import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A core in memory with a test's durability: it recognises known marks, moves and decrypts the staged file, and
/// refuses as told.
final class RecordingCore: ChatCore {
    struct Sent: Sendable {
        var item: ChatItem
        var message: ComposedMessage
        var bytes: [UInt8]
    }

    struct State: Sendable {
        var sent: [Sent] = []
        var cancelled: [FileID] = []
        var deleted: [ItemID] = []
        /// Errors of the next sends.
        var refusals: [ChatError] = []
        /// Errors of the next sends, after acceptance.
        var failuresAfterTaking: [ChatError] = []
        /// Errors of the next item queries and deletions.
        var unanswered: [ChatError] = []
        var undeleted: [ChatError] = []
        var attempts = 0
        /// While true, requests wait.
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var afterStoring: (@Sendable () -> Void)?
    }

    let profile = Profile(id: 1, displayName: "alice")
    let limits: ChatLimits
    let stagingFolder: String
    private let form: StreamForm?
    let state: Lock<State>

    init(
        stagingFolder: String, maxFileSize: UInt64 = 1_000_000, form: StreamForm? = nil, sent: [Sent] = []
    ) throws {
        self.stagingFolder = stagingFolder
        self.form = form
        limits = ChatLimits(maxFileSize: maxFileSize)
        state = Lock(State(sent: sent))
        if mkdir(stagingFolder, 0o700) != 0 && errno != EEXIST {
            throw SystemError(code: errno, operation: "make a folder")
        }
    }

    var sent: [Sent] { state.withLock { $0.sent } }

    func streamForm(for chat: ChatReference, name: String) -> StreamForm? { chat == notes ? nil : form }

    func events() -> AsyncStream<ChatEvent> { AsyncStream { _ in } }

    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.attempts += 1
                if state.isClosed { state.waiting.append(continuation) }
                return !state.isClosed
            }
            if isOpen { continuation.resume() }
        }
        if let refusal = state.withLock({ $0.refusals.isEmpty ? nil : $0.refusals.removeFirst() }) {
            throw refusal
        }
        if let known = sent.first(where: { $0.message.id == message.id }) { return known.item }
        let bytes = try Self.decrypt(message.source)
        let isStaged = ["/content", "/send-other"].contains { message.source.path.hasSuffix($0) }
        guard UInt64(bytes.count) == message.size, isStaged else {
            throw ChatError(.invalidCommand, "The staged file is not the one of the message.")
        }
        let (item, hook) = state.withLock { state in
            let number = Int64(state.sent.count + 1)
            let file = ChatFile(
                id: FileID(number), name: message.fileName, size: message.size, status: .sndStored,
                transport: .inline)
            let item = ChatItem(
                id: ItemID(number), chat: chat, direction: .sent, sender: "alice",
                time: message.modified ?? Timestamp(seconds: 0), content: message.content, file: file)
            state.sent.append(Sent(item: item, message: message, bytes: bytes))
            return (item, state.afterStoring)
        }
        if let failure = state.withLock({ $0.failuresAfterTaking.popLast() }) { throw failure }
        unlink(message.source.path)
        hook?()
        return item
    }

    func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        if let failure = state.withLock({ $0.unanswered.popLast() }) { throw failure }
        return state.withLock { state in
            let item = state.sent.first { $0.message.id == message }?.item
            return item.flatMap { state.deleted.contains($0.id) ? nil : $0 }
        }
    }

    func item(of file: FileID) async throws(ChatError) -> ChatItem? { nil }
    func itemCount() async throws(ChatError) -> Int { sent.count }
    func unsettledItems() async throws(ChatError) -> [ChatItem] { [] }

    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        let waiting = state.withLock { state in
            state.isClosed = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func decrypt(_ source: FileSourceLocation) throws(ChatError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            guard let arguments = source.arguments else { throw WrongCall() }
            let file = try OpenFile(source.path, flags: O_RDONLY)
            try CryptoFileReader(file: file, arguments: arguments).decrypt { bytes += $0 }
        } catch {
            throw ChatError(
                .invalidCommand, "The staged file cannot be read.", cause: error)
        }
        return bytes
    }

    struct WrongCall: Error {}

    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        guard let item = sent.first(where: { $0.item.id == id })?.item else {
            throw ChatError(.noSuchItem, "There is no such item.")
        }
        return item
    }

    func cancelFile(_ file: FileID) async throws(ChatError) { state.withLock { $0.cancelled.append(file) } }

    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        if let failure = state.withLock({ $0.undeleted.popLast() }) { throw failure }
        state.withLock { $0.deleted += items }
    }

    func chats() async throws(ChatError) -> [Chat] { [] }
    func items(of chat: ChatReference, before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        []
    }
    func abandonClaim(_ file: FileID, problem: FileProblem?) async {}

    // Functions that an outbox does not use.
    private static let foreign = ChatError(.invalidCommand, "An outbox only sends.")
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.foreign }
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.foreign }
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        throw Self.foreign
    }
    func completeClaim(_ file: FileID, staged: FileSourceLocation) async throws(ChatError)
        -> FileSourceLocation
    {
        throw Self.foreign
    }
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID { throw Self.foreign }
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        throw Self.foreign
    }
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile { throw Self.foreign }
}
