import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Loading chats ahead", .timeLimit(.minutes(10)))
struct LoadingAheadTests {
    private typealias Fixture = FileSystemFixture

    private static let chats = (1...4).map { ChatReference.direct(Int64($0)) }

    /// Four chats, the first with the newest messages, with these numbers of files.
    private func make(
        _ counts: [Int], ahead: Int, deadline: Duration = .seconds(60),
        _ prepare: (ScriptedCore) -> Void = { _ in }
    ) async throws -> Fixture {
        try await Fixture.make(readDeadline: deadline, itemsLoadedAhead: ahead, showsEverything: false) {
            core in
            core.state.withLock { state in
                state.chats = Self.chats.enumerated().map { number, chat in
                    Chat(
                        reference: chat, displayName: "chat \(number)",
                        updatedAt: Timestamp(seconds: Int64(100 - number)))
                }
            }
            for (chat, count) in zip(Self.chats, counts) {
                for number in 0..<count { _ = core.received("\(number).bin", in: chat, size: 10) }
            }
            prepare(core)
        }
    }

    private func isLoaded(_ number: Int, in fixture: Fixture) throws -> Bool {
        fixture.fileSystem.list(try fixture.id("chat \(number)"), after: nil, count: 1) != nil
    }

    private func loaded(in fixture: Fixture) throws -> [Int] {
        try (0..<4).filter { try isLoaded($0, in: fixture) }
    }

    @Test("newest chats load first up to the limit")
    func newestFirst() async throws {
        let fixture = try await make([3, 3, 3, 3], ahead: 7)
        try await wait(until: "two are read") { try loaded(in: fixture) == [0, 1] }
        await fixture.end()
        #expect(try loaded(in: fixture) == [0, 1])
    }

    @Test("small capacity left ends loading")
    func nearlyFull() async throws {
        let asked = Lock<Set<ChatReference>>([])
        let fixture = try await make([32, 3, 3, 3], ahead: 34) { core in
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in asked.withLock { _ = $0.insert(chat) } }
            }
        }
        try await wait(until: "the first is read") { try loaded(in: fixture) == [0] }
        await fixture.end()
        #expect(asked.withLock { $0 } == [Self.chats[0]])
    }

    @Test("large chats end loading")
    func allLarge() async throws {
        let asked = Lock<Set<ChatReference>>([])
        let fixture = try await make([20, 20, 20, 20], ahead: 16) { core in
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in asked.withLock { _ = $0.insert(chat) } }
            }
        }
        try await wait(until: "two are given up") { asked.withLock { $0 }.count == 2 }
        try await Task.sleep(for: .milliseconds(20))
        await fixture.end()
        #expect(try loaded(in: fixture) == [] && asked.withLock { $0 } == Set(Self.chats.prefix(2)))
    }

    @Test("chats beyond the limit load on demand")
    func tooMany() async throws {
        let fixture = try await make([2, 600, 2, 2], ahead: 6)
        try await wait(until: "the others are read") { try loaded(in: fixture) == [0, 2, 3] }
        let large = try fixture.id("chat 1")
        #expect(try await fixture.fileSystem.lookup(EntryName("599.bin"), in: large).value().size == 10)
        #expect(fixture.fileSystem.entries(large).count == 600)
        await fixture.end()
    }

    @Test("a lookup during loading gets all files")
    func joined() async throws {
        let isOpen = Lock(false)
        let fixture = try await make([600, 0, 0, 0], ahead: 6) { core in
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in
                    guard chat == Self.chats[0] else { return }
                    while !isOpen.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
                }
            }
        }
        let fs = fixture.fileSystem
        let folder = try fixture.id("chat 0")
        guard case .later = fs.prepare(folder) else { throw WaitedInVain("it is not read yet") }
        let looking = Task { try await fs.prepare(folder).value() }
        isOpen.withLock { $0 = true }
        try await looking.value
        #expect(fs.entries(folder).count == 600)
        await fixture.end()
    }

    @Test("a failing chat delays no other")
    func broken() async throws {
        let fixture = try await make([1, 1, 1, 1], ahead: 10) { core in
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in
                    if chat == Self.chats[1] { throw ChatError(.storage, "The disk could not be read.") }
                }
            }
        }
        try await wait(until: "the others are read") { try loaded(in: fixture) == [0, 2, 3] }
        #expect(await fixture.fileSystem.prepare(try fixture.id("chat 1")).code() == EIO)
        await fixture.end()
    }

    @Test("the end of the mount stops loading")
    func end() async throws {
        let asked = Lock(0)
        let fixture = try await make([1, 1, 1, 1], ahead: 10) { core in
            core.state.withLock { state in
                state.whenAsked = { _ throws(ChatError) in
                    asked.withLock { $0 += 1 }
                    // Until the end has begun.
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        try await wait(until: "the first is being read") { asked.withLock { $0 } == 1 }
        await fixture.end()
        let atTheEnd = asked.withLock { $0 }
        try await Task.sleep(for: .milliseconds(60))
        #expect(asked.withLock { $0 } == atTheEnd)
    }
}
