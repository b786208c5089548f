import ChatCore
import Testing

@testable import OfficialCore

@Suite("Replay of recorded sessions")
struct ReplayTests {
    /// The last status of each file in the recording.
    private static func outcomes(_ frames: [APIEvent]) -> [FileID: FileStatus] {
        var outcomes: [FileID: FileStatus] = [:]
        for frame in frames {
            switch frame.kind {
            case .newChatItems(let items):
                for item in items { if let file = item.file { outcomes[file.id] = file.status } }
            case .sndFileCancelled(_, let item?), .rcvFileCancelled(_, let item?):
                if let file = item.file { outcomes[file.id] = file.status }
            case .chatItemsDeleted(let deletions):
                for deletion in deletions { if let file = deletion.item.file { outcomes[file.id] = nil } }
            case .rcvFileComplete(let item), .rcvFileAccepted(let item), .rcvFileStart(let item),
                .chatItemUpdated(let item), .sndFileCompleteXFTP(_, let item), .rcvFileSndCancelled(let item):
                if let file = item.file { outcomes[file.id] = file.status }
            default: break
            }
        }
        return outcomes
    }

    @Test(arguments: Transcript.names, ["alice", "bob"])
    func outcomesEqualRecordedStates(_ name: String, _ client: String) async throws {
        let frames = try Transcript(name).entries.filter { $0.isReceived && $0.client == client }
            .map(\.frame)
        let events = frames.compactMap { APIFrame($0)?.event }
        let stage = try Stage { state in
            state.contacts = [:]
            // The scripted core has no messages, so every item comes from the recording.
            state.answersQuestions = false
            state.silent = ["/_get chat ", "/freceive"]
        }
        var settings = stage.settings()
        settings.reconcileInterval = .seconds(600)
        let core = try await OfficialCore.open(stage.transport, settings)
        for frame in frames { stage.transport.tell(frame: frame) }
        // When this last event was stored, every earlier event was stored.
        stage.simplex.tellNew(.init(id: 900_000, contact: 77, name: "last.txt"))
        #expect(
            await eventually {
                (try? await core.items(of: .direct(77), before: nil, count: 1).isEmpty) == false
            })
        let expected = Self.outcomes(events)
        for chat in try await core.chats() {
            for item in try await core.items(of: chat.reference, before: nil, count: 1000) {
                guard let file = item.file, let last = expected[file.id] else { continue }
                #expect(Self.isSame(file.status, last), "file \(file.id) of \(client) in \(name)")
            }
        }
        await core.shutDown()
    }

    /// Compares final states; the progress of current transfers may differ.
    private static func isSame(_ status: FileStatus, _ told: FileStatus) -> Bool {
        switch (status, told) {
        case (.rcvInvitation, .rcvInvitation): true
        case (.rcvTransfer, .rcvTransfer), (.rcvTransfer, .rcvAccepted): true
        case (.sndTransfer, .sndTransfer), (.sndTransfer, .sndStored): true
        case (.rcvError, _), (.sndError, _), (.rcvWarning, _), (.sndWarning, _): true
        default: status == told
        }
    }
}
