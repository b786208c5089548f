import Base
import ChatCore
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

/// Listings in pages of any size, of folders that change meanwhile.
@Suite("Listings in pages", .timeLimit(.minutes(10)))
struct ListingModelTests {
    private struct Entry: Hashable {
        var name: String
        var number: UInt64
        var position: UInt64
    }

    /// FUSE_READDIR and FUSE_READDIRPLUS of linux/fuse.h.
    static let operations: [UInt32] = [28, 44]

    private func entries(_ reply: SimulatedKernel.Reply, withAttributes: Bool) -> [Entry] {
        var (entries, position): ([Entry], Int) = ([], 0)
        while position < reply.bytes.count {
            let start = position + (withAttributes ? 128 : 0)
            let length = Int(reply.number(at: start + 16, as: UInt32.self))
            entries.append(
                Entry(
                    name: String(decoding: reply.bytes[(start + 24)...].prefix(length), as: UTF8.self),
                    number: reply.number(at: start, as: UInt64.self),
                    position: reply.number(at: start + 8, as: UInt64.self)))
            position = start + (24 + length + 7) / 8 * 8
        }
        return entries
    }

    private func part(
        _ kernel: SimulatedKernel, _ operation: UInt32, after position: UInt64, size: UInt64
    ) async throws -> [Entry] {
        let reply = try await kernel.ask(operation, node: 1, bytes(of: [0, position, size, 0, 0]))
        #expect(reply.code == 0 && reply.bytes.count <= Int(size))
        return entries(reply, withAttributes: operation == 44)
    }

    private static func chat(_ number: Int) -> Chat {
        let name = "chat \(number) " + String(repeating: "ä", count: number % 40)
        return Chat(reference: .direct(Int64(number)), displayName: name, updatedAt: Timestamp(seconds: 1))
    }

    /// Names of a listing in one page.
    private func all(_ files: NotedFiles) -> [String] {
        [".", ".."] + files.names.children(of: .root, after: nil, count: .max).map(\.name.description)
    }

    @Test(
        "pages of any size list each entry once", arguments: operations)
    func parts(operation: UInt32) async throws {
        let files = try NotedFiles()
        _ = try files.names.show((1...120).map(Self.chat))
        let kernel = try await SimulatedKernel(files)
        var random = SeededGenerator(state: UInt64(operation))
        for _ in 0..<8 {
            var (seen, last): ([Entry], UInt64) = ([], 0)
            while true {
                let size = UInt64.random(in: 400...6000, using: &random)
                let entries = try await part(kernel, operation, after: last, size: size)
                guard let end = entries.last else { break }
                #expect(end.position > last)
                seen += entries
                last = end.position
            }
            #expect(seen.map(\.name) == all(files))
            #expect(seen.map(\.position) == seen.map(\.position).sorted())
            #expect(Set(seen.map(\.number)).count == seen.count - 1, "the root is its own parent")
        }
        // From any position, a listing returns the rest.
        let whole = try await part(kernel, operation, after: 0, size: 1 << 17)
        for (index, entry) in whole.enumerated() {
            let rest = try await part(kernel, operation, after: entry.position, size: 1 << 17)
            #expect(rest == Array(whole[(index + 1)...]))
        }
        // After the last position there is nothing; an unused position continues with the next entry.
        #expect(try await part(kernel, operation, after: .max >> 1, size: 4096) == [])
    }

    @Test("concurrent changes do not shift positions", arguments: operations)
    func changing(operation: UInt32) async throws {
        let files = try NotedFiles()
        _ = try files.names.show((1...60).map(Self.chat))
        let kernel = try await SimulatedKernel(files)
        var random = SeededGenerator(state: UInt64(operation) + 7)
        let before = Set(all(files))
        var removed: Set<String> = []
        var (seen, last, next): ([Entry], UInt64, Int) = ([], 0, 61)
        while true {
            let entries = try await part(kernel, operation, after: last, size: 1500)
            guard let end = entries.last else { break }
            seen += entries
            last = end.position
            // Adds one entry and removes any.
            _ = try files.names.show([Self.chat(next)])
            next += 1
            let nodes = files.names.children(of: .root, after: nil, count: .max).filter { node in
                if case .chat = node.content { true } else { false }
            }
            guard let gone = nodes.randomElement(using: &random) else { continue }
            _ = try files.names.remove(folder: gone.id)
            removed.insert(gone.name.description)
        }
        let names = seen.map(\.name)
        #expect(Set(names).count == names.count)
        // Lasting entries are listed.
        #expect(before.subtracting(removed).isSubset(of: Set(names)))
    }

    @Test("kernel references match the delivered entries")
    func counted() async throws {
        let files = try NotedFiles()
        _ = try files.names.show((1...40).map(Self.chat))
        let kernel = try await SimulatedKernel(files)
        _ = files.calls
        var last: UInt64 = 0
        while true {
            let entries = try await part(kernel, 44, after: last, size: 1000)
            guard let end = entries.last else { break }
            last = end.position
            // At most the entry that did not fit was referenced, and is forgotten.
            let forgotten = files.calls.filter { $0.hasPrefix("forget") }
            #expect(forgotten.count <= 1)
        }
    }

    @Test("a too small page is empty")
    func tiny() async throws {
        let files = try NotedFiles()
        _ = try files.names.show([Self.chat(39)])
        let kernel = try await SimulatedKernel(files)
        for operation in Self.operations {
            #expect(try await part(kernel, operation, after: 2, size: 24) == [])
            #expect(try await part(kernel, operation, after: 2, size: 4096).isEmpty == false)
        }
    }
}
