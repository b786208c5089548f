import Base
import ChatCore
import Testing

/// A core with only the required methods.
private struct LeastCore: ChatCore {
    var profile: Profile { Profile(id: 1, displayName: "alice") }
    var stagingFolder: String { "/nowhere" }
    var limits: ChatLimits { ChatLimits(maxFileSize: 1) }
    /// Ids of messages that are rejected.
    var refused: Set<String> = []

    private static let item = ChatItem(
        id: ItemID(1), chat: .direct(1), direction: .received, sender: "bob", time: Timestamp(seconds: 1),
        content: MessageContent(kind: .image(preview: "data:x")), file: nil)

    func events() -> AsyncStream<ChatEvent> { AsyncStream { $0.finish() } }
    func chats() async throws(ChatError) -> [Chat] { [] }
    func items(of chat: ChatReference, before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        []
    }
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        guard id == Self.item.id else { throw ChatError(.noSuchItem, "None.") }
        return Self.item
    }
    func item(of file: FileID) async throws(ChatError) -> ChatItem? { nil }
    func itemCount() async throws(ChatError) -> Int { 0 }
    func unsettledItems() async throws(ChatError) -> [ChatItem] { [] }
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        if refused.contains(message.id) { throw ChatError(.tooLarge, message.id) }
        var item = Self.item
        item.sender = message.id
        return item
    }
    func deleteItems(_ items: [ItemID], in chat: ChatReference, mode: DeletionMode) async throws(ChatError) {}
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {}
    func cancelFile(_ file: FileID) async throws(ChatError) {
        if file == FileID(13) { throw ChatError(.noSuchFile, "None.") }
    }
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? { nil }
    func completeClaim(_ file: FileID, staged: FileSourceLocation) async throws(ChatError)
        -> FileSourceLocation
    { staged }
    func abandonClaim(_ file: FileID, problem: FileProblem?) async {}
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID { FileID(1) }
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        FileID(1)
    }
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        StandaloneFile(encryptedSize: 0, relays: [])
    }
}

@Suite("Default implementations of cores")
struct CoreDefaultsTests {
    private let core = LeastCore()
    private let location = FileSourceLocation(path: "/x", arguments: nil)

    private func refusal(_ body: () async throws -> Void) async -> ChatError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? ChatError
        }
    }

    @Test("contact commands fail without contact support")
    func contacts() async {
        let ways: [() async throws -> Void] = [
            { _ = try await core.invite() }, { _ = try await core.accept("x") },
            { _ = try await core.contact(of: 1) },
            { _ = try await core.security(of: .direct(1)) }, { try await core.renewKeys(of: .direct(1)) },
            { try await core.moveQueue(of: .direct(1)) },
            { _ = try await core.createAddress(nil) },
            { _ = try await core.address() }, { try await core.deleteAddress() },
            { _ = try await core.requests() },
            { _ = try await core.acceptRequest(1) }, { try await core.rejectRequest(1) },
        ]
        for way in ways {
            let error = await refusal(way)
            #expect(error?.code == .invalidCommand)
            #expect(error?.sentence == "The contacts of this core are made in its own program.")
        }
    }

    @Test("unsupported commands fail explicitly")
    func others() async {
        let ways: [(ChatErrorCode, String, () async throws -> Void)] = [
            (
                .invalidCommand, "The chats of this core are not changed by ChatFS.",
                { try await core.renameChat(.direct(1), to: "x") }
            ),
            (
                .invalidCommand, "The chats of this core are not changed by ChatFS.",
                { try await core.leaveChat(.direct(1)) }
            ),
            (
                .invalidCommand, "The chats of this core are not changed by ChatFS.",
                { try await core.deleteChat(.direct(1)) }
            ),
            (
                .invalidCommand, "This core keeps no links.",
                { _ = try await core.addLink("x", named: nil, approvingRelays: true) }
            ),
            (
                .sendingRefused, "This core sends no texts.",
                { try await core.send(ComposedText(id: "1", text: "x"), to: .direct(1)) }
            ),
            (
                .noSuchChat, "This core keeps no texts.",
                { _ = try await core.messageLog(of: .direct(1), from: 0, count: 1) }
            ),
            (
                .invalidCommand, "This core uploads plain files only.",
                { _ = try await core.uploadStandaloneFile(location, named: "x") }
            ),
            (
                .file(.notApproved), FileProblem.relaysNotApproved.sentence,
                { try await core.checkRelays(of: "x") }
            ),
            (.noSuchFile, "None.", { try await core.cancelStandaloneFile(FileID(13)) }),
        ]
        for (code, sentence, way) in ways {
            let error = await refusal(way)
            #expect(error?.code == code)
            #expect(error?.sentence == sentence)
        }
    }

    @Test(
        "optional queries have neutral defaults"
    )
    func answers() async throws {
        #expect(try await core.preview(of: ItemID(1), in: .direct(1)) == "data:x")
        await #expect(throws: ChatError.self) { try await core.preview(of: ItemID(2), in: .direct(1)) }
        #expect(
            try await core.receivableItems(after: ExpiryPosition(Timestamp(seconds: 0)), count: 9).isEmpty)
        #expect(try await core.messageLogs().isEmpty)
        #expect(try await core.location(of: FileID(1)) == nil)
        #expect(try await core.outcomeOfStandaloneUpload(FileID(1)) == nil)
        #expect(!core.receivesWhatIsClaimed && !core.uploadsCryptoFiles)
        try await core.cancelStandaloneFile(FileID(1))
        guard case .lost(let problem) = try await core.giveUpCopy(of: FileID(1), at: location) else {
            Issue.record("there is another copy")
            return
        }
        #expect(problem == .damagedCopy && problem.isFinal)
    }

    @Test("rejected message does not block others")
    func several() async {
        let messages = ["a", "b", "c", "d"].map { id in
            ComposedMessage(
                id: id, fileName: id, size: 1, source: FileSourceLocation(path: "/x", arguments: nil),
                content: MessageContent(kind: .file))
        }
        let answers = await LeastCore(refused: ["b", "d"]).send(messages, to: .direct(1))
        let said = answers.map { answer in
            switch answer {
            case .success(let item): item.sender
            case .failure(let error): "no \(error.sentence)"
            }
        }
        #expect(said == ["a", "no b", "c", "no d"])
        #expect(await core.send([ComposedMessage](), to: .direct(1)).isEmpty)
    }

    @Test(
        "text has 1 to 15,000 scalars",
        arguments: [1, 14_999, 15_000, 15_001])
    func texts(count: Int) async {
        for character in ["x", "😀", "e\u{301}"] {
            let text = ComposedText(id: "1", text: String(repeating: character, count: count))
            let scalars = count * character.unicodeScalars.count
            let error = await refusal { try text.check() }
            #expect(error?.code == (scalars <= 15_000 ? nil : .tooLarge))
            if let error { #expect(error.sentence.contains("15000 characters: send it as a file.")) }
        }
        #expect(await refusal { try ComposedText(id: "1", text: "").check() }?.code == .invalidCommand)
    }

    @Test("invitation's description hides its link")
    func secrets() {
        let invitation = ContactInvitation(connection: 1, link: "simplex:/secret")
        #expect(!"\(invitation)".contains("secret"))
        #expect(ChatError.noSuchRequest(7).sentence.contains("request 7"))
        #expect(ChatError.noSuchRequest(7).code == .invalidCommand)
        #expect(ChatError.noAddress.sentence.contains("'chatfs address create'"))
    }
}
