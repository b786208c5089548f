import Base
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Removed drafts")
struct RemovedDraftTests {
    private typealias Fixture = FileSystemFixture

    private func create(_ name: String, _ bytes: [UInt8], in fixture: Fixture) async throws -> FileHandle {
        let (_, handle) = try await fixture.fileSystem.create(
            EntryName(name), in: fixture.id("bob"), flags: O_RDWR | O_CREAT
        ).value()
        _ = try bytes.withUnsafeBytes { try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get() }
        return handle
    }

    private func spool(_ fixture: Fixture) throws -> [String] { try fixture.folder.names(in: "outbox/spool") }

    @Test("an open removed draft stays usable")
    func open() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let fs = fixture.fileSystem
        let handle = try await create("a.txt", [1, 2, 3, 4], in: fixture)
        #expect(await fs.unlink(EntryName("a.txt"), in: try fixture.id("bob")).code() == 0)
        #expect(try fixture.folder.names(in: "outbox/spool").count == 1)
        let removed = try fs.attributes(handle.id).get()
        #expect(removed.size == 4 && removed.links == 0 && removed.permissions == 0o600)
        #expect(try await fixture.read(handle, at: 0, count: 10) == [1, 2, 3, 4])
        _ = try [UInt8]([5, 6]).withUnsafeBytes { try fs.write(handle, $0, at: 4, by: getpid()).get() }
        let cut = AttributeChange(permissions: nil, changesOwner: false, size: 5, modified: nil)
        #expect(try await fs.change(handle.id, cut).value().size == 5)
        #expect(try await fixture.read(handle, at: 0, count: 10) == [1, 2, 3, 4, 5])
        // Its name is free at once.
        let other = try await create("a.txt", [9], in: fixture)
        #expect(try await fixture.read(handle, at: 0, count: 10) == [1, 2, 3, 4, 5])
        #expect(try fixture.attributes("bob/a.txt").size == 1)
        fs.release(other)
        fs.release(handle)
        fs.forget(handle.id, 1)
        try await wait(until: "its bytes are gone") { try spool(fixture).count == 1 }
        #expect(await fs.attributes(handle.id).code() == ESTALE)
    }

    @Test("a replaced draft stays open until forgotten")
    func replaced() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let fs = fixture.fileSystem
        let bob = try fixture.id("bob")
        for (name, byte) in [("a.part", UInt8(1)), ("b.part", 2)] {
            try await fixture.write([byte], to: name)
        }
        // One reference by the creation and two here.
        let old = try fixture.id("bob/a.part")
        #expect(try fixture.id("bob/a.part") == old)
        let names = (EntryName("b.part"), EntryName("a.part"))
        #expect(await fs.rename(names.0, in: bob, to: names.1, in: bob, flags: 0).code() == 0)
        let new = try fixture.id("bob/a.part")
        #expect(new != old)
        fs.forget(old, 2)
        #expect(try fs.attributes(old).get().links == 0)
        let handle = try await fs.open(old, flags: O_RDONLY).value()
        #expect(try await fixture.read(handle, at: 0, count: 10) == [1])
        fs.release(handle)
        let emptied = try await fs.open(old, flags: O_WRONLY | O_TRUNC).value()
        fs.release(emptied)
        #expect(try fs.attributes(old).get().size == 0)
        #expect(try await fixture.read("bob/a.part", count: 10) == [2])
        fs.forget(old, 1)
        #expect(await fs.open(old, flags: O_RDONLY).code() == ESTALE)
        #expect(await fs.attributes(old).code() == ESTALE)
        let change = AttributeChange(permissions: 0o600, changesOwner: false, size: nil, modified: nil)
        #expect(await fs.change(old, change).code() == ESTALE)
        #expect(await fs.extendedAttribute("user.chatfs.state", of: old).code() == ESTALE)
        #expect(await fs.access(old, mask: R_OK).code() == ESTALE)
        try await wait(until: "its bytes are gone") { try spool(fixture).count == 1 }
    }

    @Test("a listing counts its references exactly")
    func listed() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let fs = fixture.fileSystem
        let bob = try fixture.id("bob")
        try await fixture.write([1], to: "a.part")
        let node = try #require(fs.entries(bob).first)
        for _ in 0..<3 { #expect(fs.attributesToKeep(of: node)?.size == 1) }
        #expect(await fs.unlink(EntryName("a.part"), in: bob).code() == 0)
        // The creation's reference and two of the three.
        fs.forget(node.id, 3)
        #expect(try fs.attributes(node.id).get().size == 1)
        fs.forget(node.id, 1)
        #expect(fs.attributesToKeep(of: node) == nil)
    }

    @Test("the mount's end deletes removed drafts")
    func atTheEnd() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let bob = try fixture.id("bob")
        for name in ["open.part", "known.part"] {
            let handle = try await create(name, [1], in: fixture)
            if name == "known.part" { fixture.fileSystem.release(handle) }
            #expect(await fixture.fileSystem.unlink(EntryName(name), in: bob).code() == 0)
        }
        #expect(try spool(fixture).count == 2)
        await fixture.end()
        #expect(try spool(fixture) == [])
    }

    @Test("a sent draft's references lead to its item")
    func sent() async throws {
        let fixture = try await Fixture.make()
        let handle = try await create("a.txt", [7], in: fixture)
        fixture.fileSystem.release(handle)
        try await wait(until: "it is sent") {
            try fixture.attribute("user.chatfs.state", of: "bob/a.txt") == "sent"
        }
        fixture.fileSystem.forget(handle.id, 1)
        let entry = try await fixture.fileSystem.attributes(handle.id).value()
        #expect(entry.links == 1 && entry.size == 1 && entry.permissions == 0o644)
    }

    @Test("removal during acceptance withdraws later")
    func removedWhileHandedOver() async throws {
        let fixture = try await Fixture.make()
        let isHeld = Lock(true)
        fixture.core.state.withLock { state in
            state.sentStatus = .sndTransfer(sent: 0, total: 10)
            state.whenHanded = {
                while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
            }
        }
        let handle = try await create("a.txt", [7], in: fixture)
        fixture.fileSystem.release(handle)
        try await wait(until: "the core takes it") {
            try fixture.attribute("user.chatfs.state", of: "bob/a.txt") == "sending"
        }
        let (fileSystem, bob) = (fixture.fileSystem, try fixture.id("bob"))
        async let removed = fileSystem.unlink(EntryName("a.txt"), in: bob).code()
        // Answered only after the core's reply.
        try await Task.sleep(for: .milliseconds(50))
        #expect(fixture.core.state.withLock { $0.cancelled.isEmpty })
        isHeld.withLock { $0 = false }
        #expect(await removed == 0)
        #expect(fixture.core.state.withLock { $0.cancelled.count == 1 && $0.deleted.map(\.1) == [.internal] })
        #expect(fixture.fileSystem.entries(bob).isEmpty)
        #expect(fixture.core.state.withLock { $0.items.isEmpty && $0.sent.count == 1 })
    }

    @Test("a removal outlives its request", arguments: [true, false])
    func removedBySlowCore(isBeingSent: Bool) async throws {
        let isHeld = Lock(true)
        let fixture = try await Fixture.make(deletion: .own, changeTimeout: .milliseconds(200)) { core in
            core.state.withLock { state in
                if isBeingSent { state.sentStatus = .sndTransfer(sent: 0, total: 10) }
                state.whenRemoving = {
                    while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
                }
            }
        }
        try await fixture.write([7], to: "a.txt")
        let bob = try fixture.id("bob")
        try await wait(until: "it is an item") {
            try await fixture.fileSystem.item(at: fixture.id("bob/a.txt")) != nil
        }
        // The kernel locks the folder until the answer.
        #expect(await fixture.fileSystem.unlink(EntryName("a.txt"), in: bob).code() == ETIMEDOUT)
        #expect(fixture.fileSystem.entries(bob).count == 1)
        isHeld.withLock { $0 = false }
        try await wait(until: "it is removed") { fixture.fileSystem.entries(bob).isEmpty }
        #expect(fixture.core.state.withLock { $0.items.isEmpty })
    }
}
