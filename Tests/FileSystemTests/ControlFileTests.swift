import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Control files")
struct ControlFileTests {
    private typealias Fixture = FileSystemFixture

    @Test("stat reports the last generated size")
    func sizes() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let fs = fixture.fileSystem
        fixture.contents.here.withLock { here in here = fixture.core.state.withLock { $0.items } }
        let before = try fs.attributes(.status).get()
        // Programs do not read empty files.
        #expect(before.size > 0 && before.keeping == .never)
        let asked = fixture.contents.asked.withLock { $0 }
        for _ in 0..<10 { _ = try fs.attributes(.status).get() }
        #expect(fixture.contents.asked.withLock { $0 } == asked)
        let handle = try await fs.open(.status, flags: O_RDONLY).value()
        #expect(fixture.contents.asked.withLock { $0 } > asked)
        let bytes = try await fixture.read(handle, at: 0, count: 1 << 16)
        #expect(try fs.attributes(.status).get().size == UInt64(bytes.count))
        // Fewer blocks than bytes would mean holes, for which copy tools search.
        #expect(try fs.attributes(.status).get().blocks * 512 >= UInt64(bytes.count))
        fs.release(handle)
        let transfers = try await fs.open(.transfers, flags: O_RDONLY).value()
        #expect(try fs.attributes(.transfers).get().size == 0)
        fs.release(transfers)
    }
}

@Suite("Setting extended attributes")
struct SettingAttributeTests {
    @Test("XATTR_CREATE and XATTR_REPLACE are honoured")
    func flags() async throws {
        let fixture = try await FileSystemFixture.make(quietTime: .seconds(60))
        try await fixture.write([1], to: "a.part")
        let id = try fixture.id("bob/a.part")
        func set(_ name: String, _ text: String, flags: Int32) async -> Int32 {
            await fixture.fileSystem.setExtendedAttribute(name, Array(text.utf8), of: id, flags: flags).code()
        }
        let (creates, replaces): (Int32, Int32) = (1, 2)
        #expect(await set("user.chatfs.caption", "one", flags: replaces) == ENODATA)
        #expect(await set("user.chatfs.caption", "one", flags: creates) == 0)
        #expect(await set("user.chatfs.caption", "two", flags: creates) == EEXIST)
        #expect(try fixture.attribute("user.chatfs.caption", of: "bob/a.part") == "one")
        #expect(await set("user.chatfs.caption", "two", flags: replaces) == 0)
        #expect(try fixture.attribute("user.chatfs.caption", of: "bob/a.part") == "two")
        // Dropped values are never stored.
        #expect(await set("user.note", "x", flags: creates) == 0)
        #expect(await set("user.note", "x", flags: creates) == 0)
        #expect(await set("user.note", "x", flags: replaces) == ENODATA)
    }
}
