import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

/// The core answers with a page or item, and the deletion is stored before that answer.
@Suite("Late answers after deletions")
struct LateAnswerTests {
    /// Holds the first answer to a command with this prefix.
    private final class HeldAnswer: Sendable {
        private let gate = AsyncSemaphore(0)
        private let made = Lock(0)

        init(_ stage: Stage, _ beginning: String) {
            stage.after(beginning) { [gate, made] in
                let isFirst = made.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { _ = await gate.acquire() }
            }
        }

        var isMade: Bool { made.withLock { $0 > 0 } }
        func release() { gate.release() }
    }

    /// The numbers of items that were reported as new.
    private final class ToldItems: Sendable {
        private let numbers = Lock<[Int64]>([])
        private let task: Task<Void, Never>

        init(_ core: OfficialCore) {
            let events = core.events()
            task = Task { [numbers] in
                for await case .newChatItems(let items) in events {
                    numbers.withLock { $0 += items.map(\.id.rawValue) }
                }
            }
        }

        deinit { task.cancel() }

        var all: [Int64] { numbers.withLock { $0.sorted() } }
    }

    private func open(_ stage: Stage) async throws -> OfficialCore {
        var settings = stage.settings()
        // No later comparison repairs the result.
        settings.reconcileInterval = .seconds(600)
        return try await OfficialCore.open(stage.transport, settings)
    }

    private static func history(_ numbers: ClosedRange<Int64>, contact: Int64 = 1) -> [ScriptedMessage] {
        numbers.map { ScriptedMessage(id: $0, contact: contact, name: "\($0).txt") }
    }

    @Test("a late page restores no item deleted here")
    func deletedHere() async throws {
        let stage = try Stage { $0.history.append(Self.history(1...3)) }
        let page = HeldAnswer(stage, "/_get chat @1 count=")
        let core = try await open(stage)
        let told = ToldItems(core)
        #expect(await eventually { page.isMade })
        try await core.deleteItems([ItemID(2)], in: .direct(1), mode: .internal)
        page.release()
        #expect(await eventually { (try? await core.itemCount()) == 2 })
        #expect(await eventually { told.all.count >= 2 })
        #expect(told.all == [1, 3])
        await core.shutDown()
    }

    @Test("a late page restores no item the sender deleted")
    func deletedBySender() async throws {
        let stage = try Stage { $0.history.append(Self.history(1...3)) }
        let page = HeldAnswer(stage, "/_get chat @1 count=")
        let core = try await open(stage)
        let told = ToldItems(core)
        #expect(await eventually { page.isMade })
        stage.simplex.tellGone(3)
        // This item follows the late page.
        stage.simplex.tellNew(ScriptedMessage(id: 9, contact: 1, name: "9.txt"))
        #expect(await eventually { told.all.contains(9) })
        page.release()
        #expect(await eventually { told.all.count >= 3 })
        #expect(told.all == [1, 2, 9])
        await core.shutDown()
    }

    @Test("a late page does not restore a chat")
    func deletedChat() async throws {
        let stage = try Stage { state in
            state.contacts[2] = "carol"
            state.history.append(Self.history(1...3))
            // The chat has the newest message, so its history is read first.
            state.history.append(Self.history(11...13, contact: 2))
        }
        let page = HeldAnswer(stage, "/_get chat @2 count=")
        let core = try await open(stage)
        let told = ToldItems(core)
        #expect(await eventually { page.isMade })
        try await core.deleteChat(.direct(2))
        page.release()
        // The other chat is read afterwards.
        #expect(await eventually { told.all.count >= 3 })
        #expect(told.all == [1, 2, 3])
        #expect(try await core.itemCount() == 3)
        #expect(try await core.chats().map(\.displayName) == ["bob"])
        await #expect {
            _ = try await core.items(of: .direct(2), before: nil, count: 9)
        } throws: { ($0 as? ChatError)?.code == .noSuchChat }
        await core.shutDown()
    }

    @Test("a late cancellation does not restore a message")
    func cancelled() async throws {
        let stage = try Stage { $0.history.append(Self.history(1...2)) }
        let core = try await open(stage)
        let told = ToldItems(core)
        #expect(await eventually { (try? await core.itemCount()) == 2 })
        let answer = HeldAnswer(stage, "/fcancel")
        let cancelling = Task { try await core.cancelFile(FileID(1001)) }
        #expect(await eventually { answer.isMade })
        stage.simplex.tellGone(1)
        #expect(await eventually { (try? await core.itemCount()) == 1 })
        answer.release()
        try await cancelling.value
        #expect(try await core.itemCount() == 1)
        #expect(try await core.item(of: FileID(1001)) == nil)
        let items = Set(told.all)
        #expect(items.isSubset(of: [1, 2]) && items.count == told.all.count, "none is new twice")
        await core.shutDown()
    }

    @Test("a late lookup does not restore an item")
    func looked() async throws {
        let stage = try Stage()
        let core = try await open(stage)
        // No event reports the item, so the index does not have it.
        stage.simplex.change { $0.history.append(Self.history(5...5)) }
        let answer = HeldAnswer(stage, "/_get chat @1 around=5")
        let looking = Task { try await core.item(ItemID(5), in: .direct(1)) }
        #expect(await eventually { answer.isMade })
        try await core.deleteItems([ItemID(5)], in: .direct(1), mode: .internal)
        answer.release()
        await #expect {
            _ = try await looking.value
        } throws: { ($0 as? ChatError)?.code == .noSuchItem }
        #expect(try await core.itemCount() == 0)
        await core.shutDown()
    }
}

@Suite("Memory of removed items")
struct RemovalMemoryTests {
    private let place: IndexPlace
    private let began = ContinuousClock.now

    init() throws { place = try IndexPlace() }

    private func isRemembered(_ id: Int64) -> Bool { place.recent.contains(ItemID(id), since: began) }

    private func put(_ id: Int64) throws {
        let message = ScriptedMessage(id: id, contact: 1, name: "\(id).txt")
        _ = try place.take("newChatItems", [message])
        try #require(try place.item(id) != nil)
    }

    @Test("missing items are remembered")
    func untold() throws {
        try put(1)
        try place.index.commit { try $0.removeUntold([ItemID(1), ItemID(2)]) }
        #expect(isRemembered(1) && isRemembered(2) && !isRemembered(3))
        #expect(try place.item(1) == nil)
    }

    @Test("a missing chat's items are remembered")
    func chat() throws {
        try put(1)
        try put(2)
        try place.index.commit { try $0.removeChat(.direct(1)) }
        #expect(isRemembered(1) && isRemembered(2))
        #expect(try place.index.read { try !$0.knows(.direct(1)) })
    }

    @Test("unknown removed items are remembered")
    func neverThere() throws {
        try place.index.commit { try $0.remove([ItemID(7)], .moderated) }
        #expect(isRemembered(7))
    }

    @Test("a chat's row or files identify it")
    func known() throws {
        let direct = ChatReference.direct(1)
        #expect(try place.index.read { try $0.absence(in: direct).code } == .noSuchChat)
        try put(1)
        #expect(try place.index.read { try $0.knows(direct) })
        try place.index.write { try $0.chats.remove(direct) }
        #expect(try place.index.read { try $0.knows(direct) }, "its file is still here")
        #expect(try place.index.read { try $0.absence(in: direct).code } == .noSuchItem)
        try place.index.write { try $0.items.remove(ItemID(1)) }
        #expect(try place.index.read { try !$0.knows(direct) })
    }

    @Test("a sent file is not receivable")
    func received() throws {
        try put(1)
        var own = ScriptedMessage(id: 2, contact: 1, name: "own.txt")
        own.isSent = true
        own.status = #"{"type":"sndComplete"}"#
        _ = try place.take("newChatItems", [own])
        #expect(try place.index.read { try $0.item(ofReceived: FileID(1001)).id } == ItemID(1))
        for file in [FileID(1002), FileID(9)] {
            #expect {
                _ = try place.index.read { try $0.item(ofReceived: file) }
            } throws: { ($0 as? ChatError)?.code == .noSuchFile }
        }
    }
}
