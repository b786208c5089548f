import ChatCore
import Cryptography
import TestSupport
import Testing

@testable import FileSystem

/// SHA-256 of local files.
@Suite struct ContentDigestTests {
    private typealias Fixture = FileSystemFixture

    private func digest(_ fixture: Fixture, _ path: String, isHashing: Bool) async throws -> [UInt8]? {
        try await fixture.fileSystem.lister.entry(at: path, isHashing: isHashing).digest
    }

    @Test func onlyLocalFilesAreHashedOnce() async throws {
        var items: [ChatItem] = []
        let fixture = try await Fixture.make { core in
            items.append(core.received("here.bin", in: Fixture.bob, size: 2_500_000, status: .rcvComplete))
            items.append(core.received("remote.bin", in: Fixture.bob, size: 10))
            items.append(core.received("broken.bin", in: Fixture.bob, size: 10, status: .rcvComplete))
            items.append(core.received("empty.bin", in: Fixture.bob, size: 0, status: .rcvComplete))
        }
        fixture.contents.set(.failing(FileProblem(.damaged, "It was changed.")), for: items[2])
        let expected = SHA256.hash((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await digest(fixture, "bob/here.bin", isHashing: false) == nil)
        #expect(try await digest(fixture, "bob/here.bin", isHashing: true) == expected)
        #expect(try await digest(fixture, "bob/empty.bin", isHashing: true) == SHA256.hash([]))
        for name in ["remote.bin", "broken.bin"] {
            #expect(try await digest(fixture, "bob/" + name, isHashing: true) == nil)
        }
        // From the index, whatever the content is now.
        fixture.contents.set(.never, for: items[0])
        #expect(try await digest(fixture, "bob/here.bin", isHashing: false) == expected)
        #expect(try await digest(fixture, "bob/here.bin", isHashing: true) == expected)
        #expect(fixture.contents.open.withLock { $0.values.allSatisfy { $0 == 0 } }, "all is closed")
        await fixture.end()
    }
}
