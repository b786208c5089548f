import Glibc
import Namespace
import Testing

@testable import FileSystem

@Suite("Files for programs only")
struct MarkerTests {
    private typealias Fixture = FileSystemFixture

    @Test("indexers find unlisted, read-only markers")
    func markers() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        for name in [".nomedia", ".trackerignore"] {
            for path in [name, "bob/" + name, "quiet/" + name] {
                let attributes = try fixture.attributes(path)
                #expect(attributes.size == 0 && !attributes.isFolder && attributes.permissions == 0o400)
                #expect(try await fixture.read(path, count: 10).isEmpty)
            }
            #expect(throws: FileSystemError.notFound) { try fixture.id(".chatfs/" + name) }
            let bob = try fixture.id("bob")
            #expect(await fixture.fileSystem.unlink(EntryName(name), in: bob).code() == EPERM)
            #expect(
                await fixture.fileSystem.create(EntryName(name), in: bob, flags: O_WRONLY).code() == EPERM)
            #expect(
                await fixture.fileSystem.rename(
                    EntryName(name), in: bob, to: EntryName("b"), in: bob, flags: 0
                ).code() == EPERM)
        }
        #expect(fixture.fileSystem.entries(.root).map(\.name.description) == [".chatfs", "bob", "quiet"])
        #expect(fixture.fileSystem.entries(try fixture.id("bob")).map(\.name.description) == ["a.bin"])
        await fixture.end()
    }

    @Test("NAME.part is refused beside an entry")
    func parts() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60)) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 10)
        }
        let bob = try fixture.id("bob")
        #expect(
            await fixture.fileSystem.create(EntryName("a.bin.part"), in: bob, flags: O_WRONLY | O_CREAT)
                .code()
                == EPERM)
        #expect(throws: FileSystemError.notFound) { try fixture.id("bob/a.bin.part") }
        // A free name, or an own draft, is replaced by the rename.
        try await fixture.write([1], to: "new.bin.part")
        try await fixture.write([1], to: "draft.bin")
        try await fixture.write([2], to: "draft.bin.part")
        let answer = fixture.fileSystem.rename(
            EntryName("draft.bin.part"), in: bob, to: EntryName("draft.bin"), in: bob, flags: 0)
        #expect(await answer.code() == 0)
        try await fixture.write([1], to: ".part")
        await fixture.end()
    }
}
