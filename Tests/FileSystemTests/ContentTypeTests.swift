import Base
import ChatCore
import Glibc
import Namespace
import Testing

@testable import FileSystem

/// Takes each content of the tests for a picture, and counts.
final class RecognisedPictures: Sendable {
    private let looks = Lock(0)
    /// Contents of tests begin with these bytes.
    private static let start = Array(UInt8(0)..<16)

    var count: Int { looks.withLock { $0 } }

    func recognise(_ bytes: [UInt8]) -> MediaType? {
        looks.withLock { $0 += 1 }
        return bytes == Self.start ? MediaType("image/png") : nil
    }
}

@Suite("Media types by content")
struct ContentTypeTests {
    private typealias Fixture = FileSystemFixture

    private static func fixture(
        _ names: [String], status: FileStatus, size: UInt64 = 100
    ) async throws -> (fixture: Fixture, pictures: RecognisedPictures) {
        let pictures = RecognisedPictures()
        let fixture = try await Fixture.make(pictures: pictures) { core in
            for name in names { _ = core.received(name, in: Fixture.bob, size: size, status: status) }
        }
        return (fixture, pictures)
    }

    private static func type(_ fixture: Fixture, _ path: String) async throws -> String {
        let bytes = try await fixture.fileSystem.extendedAttribute(
            "user.mime_type", of: fixture.id(path)
        ).value()
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("a local picture without its extension is told")
    func pictures() async throws {
        let (fixture, pictures) = try await Self.fixture(
            ["photo", "photo.jpg", "notes.txt", "film.mp4"], status: .rcvComplete)
        #expect(try await Self.type(fixture, "bob/photo") == "image/png")
        #expect(try await Self.type(fixture, "bob/photo.jpg") == "image/png")
        #expect(try await Self.type(fixture, "bob/notes.txt") == "text/plain")
        #expect(try await Self.type(fixture, "bob/film.mp4") == "video/mp4")
        #expect(pictures.count == 2)
        // From memory the second time.
        #expect(try fixture.attribute("user.mime_type", of: "bob/photo") == "image/png")
        #expect(pictures.count == 2)
        #expect(fixture.contents.open.withLock { $0.values.allSatisfy { $0 == 0 } })
    }

    @Test("remote files have the type of their names")
    func remote() async throws {
        let (fixture, pictures) = try await Self.fixture(
            ["photo", "a.jpg"], status: .rcvInvitation(described: true))
        #expect(try await Self.type(fixture, "bob/photo") == "application/octet-stream")
        #expect(try await Self.type(fixture, "bob/a.jpg") == "image/jpeg")
        #expect(pictures.count == 0)
        #expect(fixture.contents.open.withLock { $0.isEmpty }, "nothing is opened")
    }

    @Test("bytes that must be waited for are read once")
    func stored() async throws {
        let (fixture, pictures) = try await Self.fixture(["photo"], status: .rcvComplete)
        let item = fixture.core.state.withLock { $0.items[0] }
        fixture.contents.set(.later, for: item)
        for _ in 0..<2 { #expect(try await Self.type(fixture, "bob/photo") == "image/png") }
        #expect(pictures.count == 1)
    }

    @Test("large files and failures leave the name's type")
    func limits() async throws {
        let (large, pictures) = try await Self.fixture(["a.jpg"], status: .rcvComplete, size: 9 << 20)
        #expect(try await Self.type(large, "bob/a.jpg") == "image/jpeg")
        let (broken, _) = try await Self.fixture(["a.jpg"], status: .rcvComplete)
        let item = broken.core.state.withLock { $0.items[0] }
        broken.contents.set(.failing(FileProblem(.damaged, "Damaged.")), for: item)
        #expect(try await Self.type(broken, "bob/a.jpg") == "image/jpeg")
        #expect(pictures.count == 0)
    }
}
