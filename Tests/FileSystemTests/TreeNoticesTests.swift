import Base
import ChatCore
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite("Receivers of tree changes", .timeLimit(.minutes(10)))
struct TreeNoticesTests {
    private typealias Fixture = FileSystemFixture

    /// Records notices of names to kernel and watchers.
    private final class Told: Sendable {
        let kernel = Lock<[String]>([])
        let watchers = Lock<[String]>([])

        init(_ fileSystem: FileSystem) {
            fileSystem.tellKernel { notice in
                if case .entry(let name, _) = notice { self.kernel.withLock { $0.append("\(name)") } }
            }
            fileSystem.tellWatchers { notice in
                switch notice {
                case .appeared(let node): self.watchers.withLock { $0.append("\(node.name)") }
                case .vanished(_, let name, _): self.watchers.withLock { $0.append("no \(name)") }
                case .renamed(let node, let old): self.watchers.withLock { $0.append("\(old), \(node.name)") }
                case .changed, .lookAgain: break
                }
            }
        }
    }

    @Test("kernel requests are reported to programs only")
    func requests() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let fs = fixture.fileSystem
        let (told, changes) = (Told(fs), fs.changes {})
        let bob = try fixture.id("bob")
        try await fixture.write([1], to: "a.part")
        let id = try fixture.id("bob/a.part")
        try await fs.rename(EntryName("a.part"), in: bob, to: EntryName("a"), in: bob, flags: 0).value()
        try await fs.unlink(EntryName("a"), in: bob).value()
        // Reported after the others, and to every receiver.
        fixture.core.tell(.newChatItems([fixture.core.received("b.bin", in: Fixture.bob, size: 10)]))
        try await wait(until: "watchers are told") { told.watchers.withLock { !$0.isEmpty } }
        #expect(told.kernel.withLock { $0 } == ["b.bin"])
        #expect(told.watchers.withLock { $0 } == ["b.bin"])
        let new = try fixture.id("bob/b.bin")
        let names = changes.take().filter { if case .changed = $0 { false } else { true } }
        #expect(
            names == [
                .appeared(id), .vanished(id, path: "bob/a.part"), .appeared(id),
                .vanished(id, path: "bob/a"), .appeared(new),
            ])
        await fixture.end()
    }

    @Test("a chat's rename is reported to each receiver")
    func renamedChat() async throws {
        let fixture = try await Fixture.make()
        let told = Told(fixture.fileSystem)
        var chat = Chat(reference: .direct(9), displayName: "carol", updatedAt: Timestamp(seconds: 5))
        fixture.core.tell(.chatUpdated(chat))
        (chat.displayName, chat.isNamedByUser) = ("caroline", true)
        fixture.core.tell(.chatUpdated(chat))
        try await wait(until: "watchers are told of both") { told.watchers.withLock { $0.count } >= 2 }
        #expect(told.kernel.withLock { $0 } == ["carol", "carol", "caroline"])
        #expect(told.watchers.withLock { $0 } == ["carol", "carol, caroline"])
        await fixture.end()
    }
}
