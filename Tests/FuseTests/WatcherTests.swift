import Base
import CFuse3
import ChatCore
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

@Suite("Events for folder watchers", .timeLimit(.minutes(10)))
struct WatcherTests {
    private static func node(_ number: UInt64, _ name: String) throws -> Node {
        // Only a namespace creates nodes.
        let folder = try TemporaryFolder()
        let names = try Namespace(path: folder.path("names.sqlite"))
        let bob = ChatReference.direct(Int64(number))
        _ = try names.show([Chat(reference: bob, displayName: name, updatedAt: Timestamp(seconds: 1))])
        return try #require(names.node(of: bob))
    }

    @Test("calls survive encoding; other bytes are rejected")
    func calls() {
        let path = Array("a folder/é.txt".utf8)
        let calls: [MountCall] = [
            .enter(path: Array("/mnt".utf8), id: 42, serial: .max), .leave, .makeFile(path),
            .makeFolder(path),
            .removeFile(path), .removeFolder([]), .rename(path, to: [0xFF]), .touch(path, mode: 0o400),
        ]
        for call in calls {
            #expect(MountCall(encoded: call.encoded) == call)
            #expect(MountCall(encoded: call.encoded + [0]) == nil)
            for length in 0..<call.encoded.count {
                #expect(MountCall(encoded: Array(call.encoded[..<length])) == nil, "\(call) \(length)")
            }
        }
        #expect(MountCall(encoded: [99, 65, 0]) == nil)
    }

    @Test("too many notices become one lookAgain")
    func queue() throws {
        let nodes = try (1...5).map { try Self.node($0, "chat \($0)") }
        var queue = WatcherQueue(limit: 3)
        for node in nodes { queue.add(.appeared(node)) }
        queue.add(.vanished(nodes[0].id, nodes[0].name, in: .root))
        queue.add(.appeared(nodes[0]))
        var told: [String] = []
        while let notice = queue.next() {
            switch notice {
            case .appeared(let node): told.append(node.name.description)
            case .lookAgain(let folder): told.append("look again \(folder.rawValue)")
            default: told.append("other")
            }
        }
        #expect(told == ["chat 1", "chat 2", "chat 3", "look again 1"])
        // Afterwards as before.
        for _ in 0..<5 { queue.add(.changed(nodes[1])) }
        var count = 0
        while queue.next() != nil { count += 1 }
        #expect(count == 1)
        for _ in 0..<5000 {
            queue.add(.changed(nodes[1]))
            #expect(queue.next() != nil && queue.next() == nil)
        }
        queue.add(.changed(nodes[1]))
        queue.removeAll()
        #expect(queue.next() == nil)
    }

    @Test("notices of busy folders wait in order")
    func busyFolders() throws {
        let nodes = try (1...2).map { try Self.node($0, "chat \($0)") }
        let folders = [NodeID(5), NodeID(6)]
        var queue = WatcherQueue(limit: 4)
        let names = (1...3).map { EntryName("\($0)") }
        for name in names { queue.add(.vanished(nodes[0].id, name, in: folders[0])) }
        queue.add(.vanished(nodes[1].id, names[0], in: folders[1]))
        for folder in folders { queue.add(.vanished(nodes[1].id, names[1], in: folder)) }
        func next(_ busy: Set<NodeID>) -> String? {
            switch queue.next(except: busy) {
            case .vanished(_, let name, let folder): "\(name) in \(folder.rawValue)"
            case .lookAgain(let folder): "look at \(folder.rawValue)"
            default: nil
            }
        }
        #expect(next([folders[0]]) == "1 in 6")
        #expect(next([folders[0]]) == "look at 6")
        #expect(next([folders[0]]) == nil)
        #expect((0..<5).map { _ in next([]) } == ["1 in 5", "2 in 5", "3 in 5", "look at 5", nil])
    }

    @Test("repeated changes are pending for our process only")
    func repeatedChange() throws {
        let (node, old) = (try Self.node(1, "new"), EntryName("old"))
        let calls = RepeatedChange()
        #expect(calls.name(node.name, in: .root, for: 7) == nil)
        calls.begin(.appeared(node), by: 7)
        #expect(calls.name(node.name, in: .root, for: 7) == .absent)
        #expect(calls.name(node.name, in: .root, for: 8) == nil)
        #expect(calls.name(node.name, in: .control, for: 7) == nil)
        #expect(calls.name(old, in: .root, for: 7) == nil)
        calls.begin(.renamed(node, from: old), by: 7)
        #expect(calls.name(node.name, in: .root, for: 7) == .absent)
        #expect(calls.name(old, in: .root, for: 7) == .present(node.id))
        calls.begin(.vanished(NodeID(9), old, in: .root), by: 7)
        #expect(calls.name(old, in: .root, for: 7) == .present(NodeID(9)))
        // Another process repeats another change.
        calls.begin(.appeared(node), by: 9)
        #expect(calls.name(node.name, in: .root, for: 9) == .absent)
        #expect(calls.name(old, in: .root, for: 7) == .present(NodeID(9)))
        calls.end(by: 7)
        #expect(calls.name(old, in: .root, for: 7) == nil)
        #expect(calls.name(node.name, in: .root, for: 9) == .absent)
        #expect(calls.notice(of: 7) == nil)
    }

    @Test("our requests are answered before the change")
    func requests() async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        let chat = try Self.node(1, "chat")
        let id = NotedFiles.attributes.id
        let mode = bytes(of: [0o100400, 0, 0, 0] as [UInt32])
        let named = bytes(of: "chat")

        kernel.context.repeatedChange.begin(.appeared(chat), by: 7)
        #expect(try await kernel.ask(1, node: 1, named, thread: 7) == .refused(ENOENT))
        #expect(try await kernel.ask(1, node: 1, named, thread: 8).code == 0)
        #expect(try await kernel.ask(8, node: 1, mode + named, thread: 8) == .refused(EPERM))
        // Another entry took the name, so nothing appears.
        #expect(try await kernel.ask(8, node: 1, mode + named, thread: 7) == .refused(ENOENT))
        #expect(try await kernel.ask(8, node: 1, mode + bytes(of: "other"), thread: 7) == .refused(EPERM))
        #expect(files.calls == ["lookup chat in 1", "lookup chat in 1", "forget \(id.rawValue) 1"])

        kernel.context.repeatedChange.begin(.vanished(NodeID(9), EntryName("chat"), in: .root), by: 7)
        // Open handles keep its attributes.
        #expect(
            try await kernel.ask(1, node: 1, named, thread: 7).number(at: 0, as: UInt64.self) == id.rawValue)
        #expect(files.calls == ["attributes 9"])
        files.state.withLock { $0.error = FileSystemError(ESTALE) }
        let gone = try await kernel.ask(1, node: 1, named, thread: 7)
        // fuse_entry_out: node, generation, timeouts of name and attributes.
        #expect(gone.code == 0)
        #expect(gone.number(at: 0, as: UInt64.self) == 9 && gone.number(at: 16, as: UInt64.self) == 0)
        files.state.withLock { $0.error = nil }
        #expect(try await kernel.ask(10, node: 1, named, thread: 7).code == 0)
        #expect(try await kernel.ask(11, node: 1, named, thread: 7).code == 0)
        #expect(files.calls == ["attributes 9"])
        #expect(try await kernel.ask(11, node: 1, named, thread: 8).code == 0)
        #expect(files.calls == ["removeFolder chat in 1"])
        #expect(try await kernel.ask(10, node: 1, named, thread: 8).code == 0)
        #expect(files.calls == ["unlink chat in 1"])

        kernel.context.repeatedChange.begin(.renamed(chat, from: EntryName("old")), by: 7)
        let names = bytes(of: [1 as UInt64]) + bytes(of: "old") + named
        #expect(try await kernel.ask(12, node: 1, names, thread: 7).code == 0)
        #expect(files.calls == [])
        kernel.context.repeatedChange.end(by: 7)
        #expect(try await kernel.ask(12, node: 1, names, thread: 7).code == 0)
        #expect(files.calls == ["rename old in 1 to chat in 1 0"])
    }
}
