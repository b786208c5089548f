import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Writing entries")
struct WritingTests {
    private typealias Fixture = FileSystemFixture

    @Test("a copied file is sent once, same entry")
    func sent() async throws {
        let fixture = try await Fixture.make()
        let (attributes, handle) = try await fixture.fileSystem.create(
            EntryName("a.txt"), in: fixture.id("bob"), flags: O_WRONLY | O_EXCL
        ).value()
        #expect(attributes.permissions == 0o600)
        _ = try [UInt8]("hello".utf8).withUnsafeBytes {
            try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get()
        }
        let time = AttributeChange(
            permissions: 0o644, changesOwner: false, size: nil,
            modified: .at(Timestamp(seconds: 1_500_000_000)))
        _ = try await fixture.fileSystem.change(attributes.id, time).value()
        fixture.fileSystem.release(handle)
        try await wait(until: "it is sent") {
            try fixture.attribute("user.chatfs.state", of: "bob/a.txt") == "sent"
        }
        let after = try fixture.attributes("bob/a.txt")
        #expect(after.id == attributes.id && after.permissions == 0o644 && after.size == 5)
        #expect(after.modified == Timestamp(seconds: 1_500_000_000))
        // Late metadata of a copy tool succeeds and sends nothing.
        let later = AttributeChange(
            permissions: 0o644, changesOwner: false, size: nil,
            modified: .at(Timestamp(seconds: 1_400_000_000)))
        #expect(
            try await fixture.fileSystem.change(attributes.id, later).value().modified
                == Timestamp(seconds: 1_400_000_000))
        #expect(
            await fixture.fileSystem.setExtendedAttribute("user.note", [1], of: attributes.id).code() == 0)
        #expect(fixture.core.state.withLock { $0.sent.map(\.fileName) } == ["a.txt"])
    }

    @Test("each refusal has its errno and no effect")
    func refusals() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let fs = fixture.fileSystem
        let (bob, received) = (try fixture.id("bob"), try fixture.id("bob/a.bin"))
        let name = EntryName("new.txt")
        #expect(await fs.create(name, in: .root, flags: O_WRONLY).code() == EPERM)
        #expect(await fs.create(name, in: .control, flags: O_WRONLY).code() == EPERM)
        #expect(await fs.create(name, in: .recovered, flags: O_WRONLY).code() == EPERM)
        #expect(await fs.create(name, in: try fixture.id("quiet"), flags: O_WRONLY).code() == EACCES)
        #expect(await fs.create(EntryName([0xFF]), in: bob, flags: O_WRONLY).code() == EILSEQ)
        let long = EntryName([UInt8](repeating: 0x61, count: 256))
        #expect(await fs.create(long, in: bob, flags: O_WRONLY).code() == ENAMETOOLONG)
        #expect(await fs.create(EntryName("a.bin"), in: bob, flags: O_WRONLY | O_EXCL).code() == EEXIST)
        #expect(await fs.create(EntryName("a.bin"), in: bob, flags: O_WRONLY).code() == EPERM)
        for flags in [O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC] {
            #expect(await fs.open(received, flags: flags).code() == EPERM)
            #expect(await fs.open(.status, flags: flags).code() == EPERM)
        }
        #expect(await fs.open(bob, flags: O_RDONLY).code() == EISDIR)
        #expect(await fs.unlink(EntryName("a.bin"), in: bob).code() == EPERM)
        #expect(await fs.unlink(EntryName("bob"), in: .root).code() == EPERM)
        #expect(await fs.unlink(EntryName("nobody"), in: bob).code() == ENOENT)
        #expect(await fs.rename(EntryName("a.bin"), in: bob, to: name, in: bob, flags: 0).code() == EPERM)
        #expect(await fs.setExtendedAttribute("user.chatfs.caption", [0x61], of: received).code() == EPERM)
        #expect(await fs.setExtendedAttribute("trusted.x", [0x61], of: received).code() == EOPNOTSUPP)
        #expect(await fs.extendedAttribute("user.nothing", of: received).code() == ENODATA)
        #expect(await fs.extendedAttribute("security.selinux", of: received).code() == EOPNOTSUPP)
        #expect(await fs.access(received, mask: R_OK).code() == 0)
        #expect(await fs.access(received, mask: W_OK).code() == 0, "no lock is on it")
        #expect(await fs.access(bob, mask: R_OK | W_OK | X_OK).code() == 0)
        let change = AttributeChange(permissions: nil, changesOwner: true, size: nil, modified: nil)
        #expect(await fs.change(received, change).code() == EPERM)
        #expect(fs.entries(bob).map(\.name.description) == ["a.bin"])
        #expect(fixture.core.state.withLock { $0.sent.isEmpty && $0.deleted.isEmpty })
    }

    @Test("rename finishes or replaces drafts in their folder")
    func rename() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60)) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 10)
        }
        let fs = fixture.fileSystem
        let bob = try fixture.id("bob")
        try await fixture.write([1], to: ".b.part")
        try await fixture.write([2, 2], to: "b")
        let draft = try fixture.id("bob/.b.part")
        func move(_ to: String, in folder: NodeID, flags: UInt32 = 0) async -> Int32 {
            await fs.rename(EntryName(".b.part"), in: bob, to: EntryName(to), in: folder, flags: flags).code()
        }
        #expect(await move("b", in: try fixture.id("quiet")) == EPERM)
        #expect(await move("a.bin", in: bob) == EPERM)
        #expect(await move("b", in: bob, flags: 1) == EEXIST)
        #expect(await move("b", in: bob, flags: 2) == EINVAL)
        #expect(await move("b", in: bob) == 0)
        #expect(try fixture.id("bob/b") == draft)
        #expect(try fixture.attributes("bob/b").size == 1)
        #expect(fs.entries(bob).map(\.name.description) == ["a.bin", "b"])
    }

    @Test("an unclosed draft is incomplete after unmount")
    func unfinishedAtTheEnd() async throws {
        let fixture = try await Fixture.make()
        let (_, handle) = try await fixture.fileSystem.create(
            EntryName("a.txt"), in: fixture.id("bob"), flags: O_WRONLY
        ).value()
        // A shell closes a copy of the descriptor before the first write.
        fixture.fileSystem.flush(handle, by: getpid())
        _ = try [UInt8]("x".utf8).withUnsafeBytes {
            try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get()
        }
        fixture.fileSystem.releaseAll()
        #expect(fixture.fileSystem.hasWriters)
        await fixture.outbox?.shutDown()
        await fixture.pump.finish()
        #expect(fixture.core.state.withLock { $0.sent.isEmpty })
    }

    @Test("unreleased handles are closed at the end")
    func lostReleases() async throws {
        let fixture = try await Fixture.make()
        let (_, handle) = try await fixture.fileSystem.create(
            EntryName("a.txt"), in: fixture.id("bob"), flags: O_WRONLY
        ).value()
        _ = try [UInt8]("x".utf8).withUnsafeBytes {
            try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get()
        }
        #expect(fixture.fileSystem.hasWriters)
        fixture.fileSystem.flush(handle, by: getpid())
        fixture.fileSystem.releaseAll()
        #expect(!fixture.fileSystem.hasWriters)
        fixture.fileSystem.release(handle)
        await fixture.outbox?.shutDown()
        await fixture.pump.finish()
        #expect(fixture.core.state.withLock { $0.sent.count } == 1)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.txt") == "sent")
    }
}

@Suite("Deleting entries")
struct DeletingTests {
    private typealias Fixture = FileSystemFixture

    private func fixture(_ policy: DeletionPolicy, time: Timestamp) async throws -> Fixture {
        try await Fixture.make(deletion: policy) { core in
            for number in 0..<30 {
                _ = core.received("\(number)", in: Fixture.bob, size: 1, time: time)
            }
            core.state.withLock { state in
                for index in state.items.indices where index >= 2 {
                    state.items[index].direction = .sent
                    state.items[index].file?.status = .sndComplete
                }
            }
        }
    }

    @Test("--delete=self deletes any entry locally")
    func own() async throws {
        let fixture = try await fixture(.own, time: Timestamp(seconds: 1_600_000_000))
        let bob = try fixture.id("bob")
        for name in ["0", "5"] {
            #expect(await fixture.fileSystem.unlink(EntryName(name), in: bob).code() == 0)
        }
        #expect(fixture.core.state.withLock { $0.deleted.map(\.1) } == [.internal, .internal])
        #expect((try? fixture.id("bob/0")) == nil)
    }

    @Test("--delete=everyone is limited to recent own messages")
    func everyone() async throws {
        let old = try await fixture(.everyone, time: Timestamp(seconds: 1_600_000_000))
        #expect(await old.fileSystem.unlink(EntryName("5"), in: try old.id("bob")).code() == EPERM)
        let fresh = try await fixture(.everyone, time: SystemWallClock().now())
        let bob = try fresh.id("bob")
        #expect(await fresh.fileSystem.unlink(EntryName("0"), in: bob).code() == EPERM)
        var codes: [Int32] = []
        for number in 2..<30 {
            codes.append(await fresh.fileSystem.unlink(EntryName("\(number)"), in: bob).code())
        }
        #expect(codes == [Int32](repeating: 0, count: 20) + [Int32](repeating: EPERM, count: 8))
        #expect(fresh.core.state.withLock { $0.deleted.allSatisfy { $0.1 == .broadcast } })
    }

    @Test("removal of a sending file always withdraws it")
    func takenBack() async throws {
        let fixture = try await Fixture.make { core in
            var item = core.received("a", in: Fixture.bob, size: 9)
            item.direction = .sent
            item.file?.status = .sndTransfer(sent: 1, total: 9)
            core.state.withLock { $0.items = [item] }
        }
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a") == "sending")
        #expect(await fixture.fileSystem.unlink(EntryName("a"), in: try fixture.id("bob")).code() == 0)
        #expect(fixture.core.state.withLock { $0.cancelled } == [FileID(1)])
        #expect((try? fixture.id("bob/a")) == nil)
    }
}
