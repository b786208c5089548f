import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

@Suite("Chat requests")
struct ChatManagementTests {
    private let core = AnsweringCore()

    private func carryOut(
        _ action: ChatManagementRequest.Action, _ kind: ChatKind = .contact, _ chat: String? = nil,
        name: String? = nil,
        skipping skipped: Int? = nil
    ) async -> (names: [String]?, problem: String?) {
        var request = ChatManagementRequest(action, kind, chat: chat, name: name)
        request.skipped = skipped
        do throws(ChatError) {
            return (
                try await request.carryOut(on: core, naming: MountedFolders(name: core.folderName)), nil
            )
        } catch {
            return (nil, error.sentence)
        }
    }

    @Test("lists are sorted, filtered and paged")
    func list() async throws {
        core.names.withLock { $0 = (0..<250).map { "n\(1000 - $0)" } }
        let all = core.names.withLock { $0.sorted() }
        var found: [String] = []
        while true {
            let part = try #require(await carryOut(.list, skipping: found.count).names)
            #expect(part.count <= ChatManagementRequest.maxNames)
            if part.isEmpty { break }
            found += part
        }
        #expect(found == all)
        for (skipped, first) in [(nil, all.first), (-1, all.first), (249, all.last), (250, nil), (.max, nil)]
            as [(Int?, String?)]
        {
            let part = await carryOut(.list, skipping: skipped)
            #expect(part.names?.first == first && part.problem == nil)
        }
        #expect(await carryOut(.list, .group).names == [])
    }

    @Test("chats are selected by name or reference")
    func named() async {
        // A contact's folder and a group's alias.
        #expect(await carryOut(.find, .contact, "bob").names == ["bob", "@7"])
        #expect(await carryOut(.find, .group, "bob").names == ["bob", "#3"])
        #expect(await carryOut(.find, .group, "#4").names == ["closed", "#4"])
        for (kind, text) in [
            (ChatKind.contact, "closed"), (.group, "Saved notes"), (.contact, "#3"), (.group, ""),
        ] {
            let refused = await carryOut(.find, kind, text)
            #expect(
                refused.names == nil
                    && refused.problem?.hasPrefix("There is no chat \(text); there are: ") == true)
        }
        core.names.withLock { $0 = ["only"] }
        let none = await carryOut(.leave, .group, "only")
        #expect(none.problem == "There is no chat only; there are none yet.")
        #expect(core.deeds.withLock { $0.isEmpty })
    }

    @Test("each action affects the selected chat once")
    func deeds() async {
        #expect(await carryOut(.rename, .contact, "bob", name: "Robert").names == ["bob"])
        #expect(await carryOut(.rename, .group, "#3", name: "bob (2)").names == ["bob"])
        #expect(await carryOut(.leave, .group, "closed").names == ["closed"])
        #expect(await carryOut(.delete, .contact, "@7").names == ["bob"])
        #expect(
            core.deeds.withLock { $0 } == ["rename @7 Robert", "rename #3 bob (2)", "leave #4", "delete @7"])
    }
}

@Suite("New names of chats")
struct ChatAliasTests {
    private let core = AnsweringCore()

    @Test(
        "an ambiguous or reference-like name is refused",
        arguments: [
            ("closed", "closed (#4)"), ("bob", "#bob (#3)"), ("Saved notes", "Saved notes"), ("@9", "@9"),
        ])
    func refused(name: String, reason: String) async {
        let request = ChatManagementRequest(.rename, .contact, chat: "@7", name: name)
        let error = await #expect(throws: ChatError.self) {
            try await request.carryOut(on: core, naming: MountedFolders(name: core.folderName))
        }
        #expect(error?.sentence.contains(reason) == true)
        #expect(core.deeds.withLock { $0.isEmpty })
    }
}

@Suite("Blocking on tasks")
struct BlockingTaskTests {
    @Test("each waiting thread gets its own value")
    func values() async {
        let pool = ThreadPool(name: "waiting", threads: 24)
        let found = await withTaskGroup(of: Int.self) { group in
            for number in 0..<24 {
                group.addTask {
                    await pool.run {
                        BlockingTask.value {
                            // Each yields to the others before it ends.
                            for _ in 0..<number { await Task.yield() }
                            return number * number
                        }
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(found == Set((0..<24).map { $0 * $0 }))
    }

    @Test("a nil value is delivered")
    func nothing() async {
        let value = await ThreadPool.shared.run { BlockingTask.value { () -> Int? in nil } }
        #expect(value == nil)
    }

    @Test("each permit ends one wait")
    func monitor() async {
        let permits = Monitor(0)
        let take = { @Sendable in
            permits.wait { permits -> Bool? in
                guard permits > 0 else { return nil }
                permits -= 1
                return true
            }
        }
        for _ in 0..<3 { permits.change { $0 += 1 } }
        await ThreadPool.shared.run { for _ in 0..<3 { _ = take() } }
        let passed = Lock(false)
        let waiting = Task {
            await ThreadPool.shared.run {
                _ = take()
                passed.withLock { $0 = true }
            }
        }
        #expect(!passed.withLock { $0 })
        permits.change { $0 += 1 }
        await waiting.value
        #expect(passed.withLock { $0 })
    }
}
