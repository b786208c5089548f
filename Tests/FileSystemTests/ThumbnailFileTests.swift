import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Posix
import TestSupport
import Testing

/// Replaces the decoding processes: returns its request as text.
private final class Maker: ThumbnailMaking {
    let state = Lock((asked: 0, isAvailable: true, isStuck: false))

    func thumbnail(preview: String, side: Int, uri: String, modified: Int64) async -> [UInt8]? {
        state.withLock { $0.asked += 1 }
        while state.withLock({ $0.isStuck }) { try? await Task.sleep(for: .milliseconds(1)) }
        return preview == "broken" ? nil : Array("\(preview) \(side) \(uri) \(modified)".utf8)
    }

    func isAvailable() async -> Bool { state.withLock { $0.isAvailable } }
}

@Suite("Thumbnails of previews", .timeLimit(.minutes(10)))
struct ThumbnailFileTests {
    private typealias Fixture = FileSystemFixture

    private let maker = Maker()

    private func make(
        _ names: [String: MessageContent.Kind], deadline: Duration = .seconds(60)
    ) async throws -> Fixture {
        let fixture = try await Fixture.make(
            readDeadline: deadline, showsEverything: false, thumbnails: maker
        ) { core in
            for (name, kind) in names.sorted(by: { $0.key < $1.key }) {
                _ = core.received(name, in: Fixture.bob, size: 10, content: MessageContent(kind: kind))
            }
        }
        return fixture
    }

    /// Targets of the links in the folder of a size.
    private func links(_ fixture: Fixture, _ size: String = "normal") throws -> [String] {
        let folder = "thumbnails/" + size
        guard let names = try? fixture.folder.names(in: folder) else { return [] }
        return names.compactMap { name in
            var buffer = [CChar](repeating: 0, count: 4096)
            let count = readlink(fixture.folder.path(folder + "/" + name), &buffer, buffer.count)
            return count < 0
                ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }.sorted()
    }

    /// Follows a link like a program.
    private func look(_ fixture: Fixture, _ path: String) async throws -> Attributes {
        let fs = fixture.fileSystem
        var folder = NodeID.root
        for name in path.split(separator: "/") {
            folder = try await fs.lookup(EntryName(String(name)), in: folder).value().id
        }
        return try await fs.attributes(folder).value()
    }

    private func read(_ fixture: Fixture, _ found: Attributes) async throws -> String {
        let handle = try await fixture.fileSystem.open(found.id, flags: O_RDONLY).value()
        defer { fixture.fileSystem.release(handle) }
        return String(decoding: try await fixture.read(handle, at: 0, count: 4096), as: UTF8.self)
    }

    @Test("previews are offered on listing, rendered on lookup")
    func offered() async throws {
        let fixture = try await make([
            "a b.jpg": .image(preview: "one"), "c.mp4": .video(preview: "two", seconds: 3), "d.pdf": .file,
            "e.jpg": .image(preview: ""),
        ])
        let bob = try fixture.id("bob")
        _ = try await fixture.fileSystem.lookup(EntryName("a b.jpg"), in: bob).value()
        #expect(try links(fixture).isEmpty)
        try await fixture.fileSystem.prepare(bob).value()
        for size in ["normal", "large", "x-large", "xx-large"] {
            #expect(try links(fixture, size).count == 2)
        }
        #expect(maker.state.withLock { $0.asked } == 0)

        let id = try fixture.id("bob/a b.jpg")
        let link = try #require(try links(fixture).first { $0.hasSuffix("/128/\(id.rawValue).png") })
        let start = try fixture.folder.names(in: "thumbnails").first { $0.hasPrefix(".chatfs-") } ?? ""
        #expect(link == "../\(start)/128/\(id.rawValue).png")
        let found = try await look(fixture, "/.chatfs/thumbnails/128/\(id.rawValue).png")
        let text = "one 128 file:///mnt/bob/a%20b.jpg 1700000000"
        #expect(found.size == UInt64(text.utf8.count) && found.permissions == 0o400 && !found.isFolder)
        #expect(found.modified == Timestamp(seconds: 1_700_000_000))
        #expect(try await read(fixture, found) == text)
        #expect(try await read(fixture, found) == text)
        #expect(maker.state.withLock { $0.asked } == 1)
        // Its number suffices.
        fixture.fileSystem.forget(found.id, 10)
        #expect(try await fixture.fileSystem.attributes(found.id).value().size == found.size)
    }

    @Test("thumbnails are unlisted and read-only")
    func refusals() async throws {
        let fixture = try await make(["a.jpg": .image(preview: "one"), "d.pdf": .file])
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        try await fs.prepare(bob).value()
        #expect(
            fs.entries(.control).map(\.name.description).sorted() == [
                "messages", "recovered", "status.json", "transfers",
            ])
        let folder = try await fs.lookup(EntryName("thumbnails"), in: .control).value()
        #expect(folder.isFolder && folder.permissions == 0o500)
        #expect(fs.entries(folder.id).isEmpty)
        let size = try await fs.lookup(EntryName("256"), in: folder.id).value()
        #expect(await fs.lookup(EntryName("255"), in: folder.id).code() == ENOENT)
        let (picture, document) = (try fixture.id("bob/a.jpg").rawValue, try fixture.id("bob/d.pdf").rawValue)
        for name in ["\(document).png", "99999.png", "x.png", "\(picture)", "0\(picture).png"] {
            #expect(await fs.lookup(EntryName(name), in: size.id).code() == ENOENT, "\(name)")
        }
        let name = EntryName("\(picture).png")
        let found = try await fs.lookup(name, in: size.id).value()
        #expect(await fs.open(found.id, flags: O_WRONLY).code() == EPERM)
        #expect(await fs.open(size.id, flags: O_RDONLY).code() == EISDIR)
        #expect(await fs.unlink(name, in: size.id).code() == EPERM)
        #expect(await fs.create(EntryName("new.png"), in: size.id, flags: O_WRONLY, by: 0).code() == EPERM)
        #expect(await fs.rename(name, in: size.id, to: EntryName("a"), in: size.id, flags: 0).code() == EPERM)
        #expect(await fs.access(found.id, mask: R_OK).code() == 0)
        #expect(await fs.access(found.id, mask: W_OK).code() == EACCES)
        #expect(fs.parent(of: found.id) == size.id && fs.parent(of: size.id) == folder.id)
    }

    @Test("thumbnails follow the folder's messages")
    func news() async throws {
        let fixture = try await make(["a.jpg": .image(preview: "one")])
        try await fixture.fileSystem.prepare(fixture.id("bob")).value()
        let item = fixture.core.received(
            "b.jpg", in: Fixture.bob, size: 1, content: MessageContent(kind: .image(preview: "two")))
        fixture.core.tell(.newChatItems([item]))
        try await wait(until: "the new one is offered") { try links(fixture).count == 2 }
        let id = try fixture.id("bob/b.jpg").rawValue
        let place = "/.chatfs/thumbnails/512/\(id).png"
        _ = try await look(fixture, place)
        fixture.core.state.withLock { $0.items.removeAll { $0.id == item.id } }
        fixture.core.tell(.chatItemsDeleted([(item.chat, item.id)], .deleted))
        try await wait(until: "it is gone") { try links(fixture).count == 1 }
        #expect(await code { _ = try await look(fixture, place) } == ENOENT)
    }

    @Test("an undecodable preview is not retried")
    func broken() async throws {
        let fixture = try await make(["a.jpg": .image(preview: "broken")])
        try await fixture.fileSystem.prepare(fixture.id("bob")).value()
        let id = try fixture.id("bob/a.jpg").rawValue
        for size in [128, 256, 128, 512] {
            #expect(
                await code { _ = try await look(fixture, "/.chatfs/thumbnails/\(size)/\(id).png") } == ENOENT)
        }
        #expect(maker.state.withLock { $0.asked } == 1)
        try await wait(until: "its links are gone") { try links(fixture).isEmpty }
    }

    @Test("a slow rendering times out alone")
    func stuck() async throws {
        let fixture = try await make(["a.jpg": .image(preview: "one")], deadline: .seconds(1))
        while await fixture.fileSystem.prepare(try fixture.id("bob")).code() == ETIMEDOUT {}
        let place = "/.chatfs/thumbnails/128/\(try fixture.id("bob/a.jpg").rawValue).png"
        maker.state.withLock { $0.isStuck = true }
        #expect(await code { _ = try await look(fixture, place) } == ETIMEDOUT)
        maker.state.withLock { $0.isStuck = false }
        try await wait(until: "it is made") { (try? await look(fixture, place).size) ?? 0 > 0 }
        #expect(maker.state.withLock { $0.asked } == 1)
    }

    @Test("nothing is offered without a decoder")
    func unavailable() async throws {
        maker.state.withLock { $0.isAvailable = false }
        let fixture = try await make(["a.jpg": .image(preview: "one")])
        try await fixture.fileSystem.prepare(fixture.id("bob")).value()
        #expect(try links(fixture).isEmpty)
    }

    @Test("thumbnails use the writer's time")
    func otherTime() async throws {
        let fixture = try await Fixture.make(
            readDeadline: .seconds(60), showsEverything: false, thumbnails: maker
        ) { core in
            let item = core.received(
                "a.jpg", in: Fixture.bob, size: 1, status: .sndComplete,
                content: MessageContent(kind: .image(preview: "one")))
            core.state.withLock { $0.items[0].direction = .sent }
            _ = item
        }
        try await fixture.fileSystem.prepare(fixture.id("bob")).value()
        let id = try fixture.id("bob/a.jpg")
        let place = "/.chatfs/thumbnails/128/\(id.rawValue).png"
        #expect(try await read(fixture, try await look(fixture, place)).hasSuffix(" 1700000000"))
        let change = AttributeChange(
            permissions: nil, changesOwner: false, size: nil, modified: .at(Timestamp(seconds: 1_234_567_890))
        )
        _ = try await fixture.fileSystem.change(id, change).value()
        let found = try await look(fixture, place)
        #expect(found.modified.seconds == 1_234_567_890)
        #expect(try await read(fixture, found).hasSuffix(" 1234567890"))
    }
}
