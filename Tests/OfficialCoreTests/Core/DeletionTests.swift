import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Deletion reasons")
struct DeletionTests {
    /// Runs `event` on a core with one message and returns the reason of the first deletion.
    private func reason(
        _ message: ScriptedMessage, _ deed: (ScriptedSimpleX) -> Void
    ) async throws -> DeletionReason? {
        let stage = try Stage { $0.history.append(message) }
        let core = try await stage.open()
        #expect(await eventually { (try? await core.item(ItemID(1), in: .direct(1))) != nil })
        let events = core.events()
        deed(stage.simplex)
        #expect(await eventually { (try? await core.item(ItemID(1), in: .direct(1))) == nil })
        await core.shutDown()
        for await case .chatItemsDeleted(let items, let reason) in events {
            #expect(items.map(\.item) == [ItemID(1)] && items.map(\.chat) == [.direct(1)])
            return reason
        }
        return nil
    }

    private let message = ScriptedMessage(id: 1, contact: 1, name: "film.mp4")

    private var disappearing: ScriptedMessage {
        var message = message
        message.disappears = true
        return message
    }

    @Test func expiredMessageDisappears() async throws {
        #expect(try await reason(disappearing) { $0.tellGone(1, timed: true) } == .disappeared)
    }

    @Test func earlyDeletionIsNoDisappearance() async throws {
        #expect(try await reason(disappearing) { $0.tellGone(1) } == .deleted)
    }

    @Test(
        "a deleted stub has its reason",
        arguments: [("moderated", DeletionReason.moderated), ("deleted", .deleted)])
    func stubs(kind: String, expected: DeletionReason) async throws {
        #expect(try await reason(message) { $0.tellGone(1, stub: kind) } == expected)
    }

    @Test(
        "an update to a stub is a deletion",
        arguments: [
            ("moderated", DeletionReason.moderated), ("blockedByAdmin", .moderated), ("blocked", .deleted),
        ])
    func changes(kind: String, expected: DeletionReason) async throws {
        let told = try await reason(message) { simplex in
            let stub = simplex.change { state in state.history.change(1) { $0.deletion = kind } }
            if let stub { simplex.tell("chatItemUpdated", stub) }
        }
        #expect(told == expected)
    }

    @Test func moderatorDeletesSeveralMessages() async throws {
        let told = try await reason(message) { simplex in
            simplex.change { _ = $0.history.remove(1) }
            simplex.tell(
                #"{"type":"groupChatItemsDeleted",\#(ScriptedState.user),"groupInfo":{"groupId":3},"#
                    + #""chatItemIDs":[1],"byUser":false}"#)
        }
        #expect(told == .moderated)
    }

    @Test("a missing message was deleted or disappeared")
    func untold() async throws {
        #expect(try await reason(message) { $0.change { _ = $0.history.remove(1) } } == .deleted)
        #expect(try await reason(disappearing) { $0.change { _ = $0.history.remove(1) } } == .disappeared)
    }
}
