import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport

@testable import Links

/// A core whose uploads the test completes.
final class ManualCore: ChatCore {
    struct State {
        var uploads: [FileID: String] = [:]
        var names: [String] = []
        var outcomes: [FileID: StandaloneOutcome] = [:]
        var cancelled: [FileID] = []
        var next: Int64 = 7
        var refusal: ChatError?
        var unapproved = false
        /// Called with each upload before the answer.
        var whenAsked: @Sendable (FileID) -> Void = { _ in }
        /// Awaited with each revocation before the answer.
        var whenCancelled: @Sendable (FileID) async -> Void = { _ in }
    }

    let state = Lock(State())
    let hub = EventHub()
    let profile = Profile(id: 3, displayName: "alice")
    let limits = ChatLimits(maxFileSize: 1000)
    let stagingFolder: String
    let uploadsCryptoFiles: Bool

    init(stagingFolder: String, uploadsCryptoFiles: Bool = true) {
        self.stagingFolder = stagingFolder
        self.uploadsCryptoFiles = uploadsCryptoFiles
    }

    func streamForm(for chat: ChatReference, name: String) -> StreamForm? {
        StreamForm(header: { _ in [7] }, length: { $0 })
    }

    /// The current uploads.
    var uploads: [FileID: String] { state.withLock { $0.uploads } }

    private func begin(_ path: String, _ name: String) throws(ChatError) -> FileID {
        let file = try state.withLock { state throws(ChatError) in
            if let refusal = state.refusal { throw refusal }
            if uploadsCryptoFiles, let known = state.uploads.first(where: { $0.value == path }) {
                return known.key
            }
            state.next += 1
            state.uploads[FileID(state.next)] = path
            state.names.append(name)
            return FileID(state.next)
        }
        state.withLock { $0.whenAsked }(file)
        return file
    }

    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        try begin(path, String(path.split(separator: "/").last ?? ""))
    }

    func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID { try begin(source.path, name) }

    func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        state.withLock { $0.outcomes[file] }
    }

    func cancelStandaloneFile(_ file: FileID) async throws(ChatError) {
        await state.withLock { $0.whenCancelled }(file)
        try state.withLock { state throws(ChatError) in
            if let refusal = state.refusal { throw refusal }
            guard state.uploads.removeValue(forKey: file) != nil else {
                throw ChatError(.noSuchFile, "There is no such file.")
            }
            state.cancelled.append(file)
        }
    }

    func checkRelays(of description: String) async throws(ChatError) {
        if state.withLock({ $0.unapproved }) { throw ChatError(.file(.notApproved), "chatfs approve it") }
    }

    func events() -> AsyncStream<ChatEvent> { hub.listen() }
    func chats() async throws(ChatError) -> [Chat] {
        [Chat(reference: .direct(1), displayName: "bob", updatedAt: Timestamp(seconds: 1))]
    }
    func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] { [] }
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        throw ChatError(.noSuchItem, "There is no such item.")
    }
    func item(of file: FileID) async throws(ChatError) -> ChatItem? { nil }
    func itemCount() async throws(ChatError) -> Int { 5 }
    func unsettledItems() async throws(ChatError) -> [ChatItem] { [] }
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        throw ChatError(.noSuchChat, "There is no such chat.")
    }
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {}
    func cancelFile(_ file: FileID) async throws(ChatError) {}
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? { nil }
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation { staged }
    func abandonClaim(_ file: FileID, problem: FileProblem?) async {}
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        FileID(1)
    }
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        throw ChatError(.noSuchFile, "There is no such file.")
    }
}
