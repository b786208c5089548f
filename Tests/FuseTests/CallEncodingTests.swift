import Base
import CFuse3
import ChatCore
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

/// Encoding of calls and queueing of notices, against models.
@Suite struct CallEncodingTests {
    private static func path(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 1...255, using: &random) }
    }

    private static func call(_ random: inout SeededGenerator) -> MountCall {
        let (path, other) = (path(&random), path(&random))
        let number = UInt64.random(in: 0...UInt64.max, using: &random)
        return switch Int.random(in: 0..<8, using: &random) {
        case 0: .enter(path: path, id: number, serial: number &* 3)
        case 1: .leave
        case 2: .makeFile(path)
        case 3: .makeFolder(path)
        case 4: .removeFile(path)
        case 5: .removeFolder(path)
        case 6: .rename(path, to: other)
        default: .touch(path, mode: number)
        }
    }

    @Test func changedBytesAreAnotherCallOrNone() {
        var random = SeededGenerator(state: 23)
        for _ in 0..<3000 {
            let call = Self.call(&random)
            var bytes = call.encoded
            #expect(MountCall(encoded: bytes) == call)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            case 1: bytes.append(UInt8.random(in: 0...255, using: &random))
            default:
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            }
            // A decoded call encodes to the same bytes.
            if let read = MountCall(encoded: bytes) {
                #expect(read.encoded == bytes && read != call)
            }
        }
    }

    @Test func anyBytesParseOrAreRejected() {
        var random = SeededGenerator(state: 24)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...9, using: &random)
            }
            if let call = MountCall(encoded: bytes) { #expect(call.encoded == bytes) }
        }
        #expect(MountCall(encoded: []) == nil)
    }

    @Test func longestPathsFitIntoACall() {
        // Thirty-three names of 255 bytes, twice.
        let path = Array(repeating: [UInt8](repeating: 97, count: 255), count: 31)
        let long = Array(path.joined(separator: [UInt8(ascii: "/")]))
        #expect(MountCall.rename(long, to: long).encoded.count <= MountCall.maxLength)
    }

    /// Only a namespace creates nodes.
    private static func nodes(_ count: Int) throws -> [Node] {
        let folder = try TemporaryFolder()
        let names = try Namespace(path: folder.path("names.sqlite"))
        let chats = (1...count).map { number in
            Chat(
                reference: .direct(Int64(number)), displayName: "chat \(number)",
                updatedAt: Timestamp(seconds: 1))
        }
        _ = try names.show(chats)
        return chats.compactMap { names.node(of: $0.reference) }
    }

    /// Compares the queue with a plain list: order, merged changes, and overflowing folders.
    @Test(arguments: [1, 2, 5, 50] as [Int])
    func queueMatchesAListOfNotices(limit: Int) throws {
        let nodes = try Self.nodes(6)
        var random = SeededGenerator(state: UInt64(limit))
        var queue = WatcherQueue(limit: limit)
        var (waiting, isCrowded): ([String], Bool) = ([], false)
        func word(_ notice: WatcherNotice?) -> String? {
            switch notice {
            case .appeared(let node): "appeared \(node.name)"
            case .changed(let node): "changed \(node.name)"
            case .vanished(_, let name, _): "vanished \(name)"
            case .renamed(let node, let old): "renamed \(old) \(node.name)"
            case .lookAgain(let folder): "look again \(folder.rawValue)"
            case nil: nil
            }
        }
        for _ in 0..<4000 {
            guard Int.random(in: 0..<3, using: &random) > 0 else {
                let wanted =
                    if waiting.isEmpty {
                        isCrowded ? "look again 1" : nil
                    } else { waiting.removeFirst() }
                if wanted == "look again 1" { isCrowded = false }
                #expect(word(queue.next()) == wanted)
                continue
            }
            let node = nodes[Int.random(in: nodes.indices, using: &random)]
            let notice: WatcherNotice =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .appeared(node)
                case 1: .vanished(node.id, node.name, in: node.folder)
                case 2: .renamed(node, from: EntryName("old"))
                default: .changed(node)
                }
            queue.add(notice)
            guard !isCrowded else { continue }
            guard waiting.count < limit else {
                isCrowded = true
                continue
            }
            let text = word(notice) ?? ""
            if text.hasPrefix("changed"), waiting.contains(text) { continue }
            waiting.append(text)
        }
        while let notice = queue.next() { #expect(word(notice) != nil) }
        queue.add(.changed(nodes[0]))
        queue.removeAll()
        #expect(word(queue.next()) == nil)
    }

    @Test func eachRepeatedChangeAppliesToItsProcess() throws {
        let nodes = try Self.nodes(2)
        let calls = RepeatedChange()
        calls.begin(.appeared(nodes[0]), by: 7)
        calls.begin(.changed(nodes[1]), by: 8)
        #expect(calls.name(nodes[0].name, in: .root, for: 7) == .absent)
        #expect(calls.name(nodes[0].name, in: .root, for: 8) == nil)
        calls.end(by: 7)
        #expect(calls.notice(of: 7) == nil && calls.notice(of: 8) != nil)
        // `changed` and `lookAgain` affect no name.
        #expect(calls.name(nodes[1].name, in: .root, for: 8) == nil)
        calls.begin(.lookAgain(.root), by: 8)
        #expect(calls.name(nodes[1].name, in: .root, for: 8) == nil)
        // A vanished node is present under each of its folder's names that is its own.
        calls.begin(.vanished(nodes[0].id, nodes[0].name, in: .root), by: 8)
        #expect(calls.name(nodes[0].name, in: .root, for: 8) == .present(nodes[0].id))
        #expect(calls.name(nodes[1].name, in: .root, for: 8) == nil)
        #expect(calls.name(nodes[0].name, in: .recovered, for: 8) == nil)
    }

    @Test func endWithoutCallIsIgnored() throws {
        let calls = RepeatedChange()
        calls.end(by: 0)
        #expect(calls.notice(of: 0) == nil && calls.name(EntryName("a"), in: .root, for: 0) == nil)
    }

    @Test func waitingRequestsAreInterruptedSeparately() async throws {
        let files = try NotedFiles()
        files.state.withLock { ($0.isLate, $0.waitsForCancellation) = (true, true) }
        let kernel = try await SimulatedKernel(files)
        let numbers = try (0..<12).map { try kernel.send(1, node: 1, bytes(of: "n\($0)")) }
        try await wait(until: "all wait") { files.state.withLock { $0.calls.count } == 12 }
        for number in numbers.reversed() {
            try kernel.send(36, node: 0, bytes(of: [number]))
            #expect(try await kernel.reply(to: number) == .refused(EINTR))
        }
        #expect(!kernel.hasUnexpectedReply)
        #expect(try await kernel.ask(17, node: 1, []).code == 0)
    }
}
