import Base
import Glibc
import Namespace
import Notifications
import Testing

@testable import FileSystem
@testable import chatfs

@Suite("Moves out of the mount")
struct RecentReadersTests {
    private typealias Fixture = FileSystemFixture

    private static let node = NodeID(1024)
    private static let beginning = ContinuousClock.now

    /// Threads 10 to 19 are one process, 20 to 29 another.
    private static func readers(after passed: Lock<Duration>) -> RecentReaders {
        RecentReaders(
            now: { beginning + passed.withLock { $0 } }, process: { $0 < 100 ? $0 / 10 : nil })
    }

    @Test("a process counts as reader for two seconds")
    func moment() {
        let passed = Lock(Duration.zero)
        let readers = Self.readers(after: passed)
        #expect(!readers.isReader(10, of: Self.node))
        readers.opened(Self.node, flags: O_RDONLY, by: 10)
        passed.withLock { $0 = .seconds(3600) }
        #expect(readers.isReader(10, of: Self.node) && readers.isReader(11, of: Self.node))
        #expect(!readers.isReader(20, of: Self.node) && !readers.isReader(100, of: Self.node))
        #expect(!readers.isReader(10, of: NodeID(1025)) && !readers.isReader(0, of: Self.node))
        readers.closed(Self.node)
        passed.withLock { $0 += RecentReaders.moment }
        #expect(readers.isReader(10, of: Self.node))
        passed.withLock { $0 += .milliseconds(1) }
        #expect(!readers.isReader(10, of: Self.node))
    }

    @Test("type detection does not make a reader")
    func sniffing() {
        let readers = Self.readers(after: Lock(.zero))
        readers.opened(Self.node, flags: O_RDONLY | 0o1000000, by: 10)
        #expect(!readers.isReader(10, of: Self.node))
    }

    @Test("only the latest files are remembered")
    func bounded() {
        let readers = Self.readers(after: Lock(.zero))
        for number in 0..<1000 { readers.opened(NodeID(2000 + UInt64(number)), flags: O_RDONLY, by: 10) }
        #expect(readers.isReader(10, of: NodeID(2999)))
        #expect(!readers.isReader(10, of: NodeID(2000)))
    }

    @Test("a moved file stays and is reported")
    func movedOut() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let files = fixture.fileSystem
        let told = Lock<[UserNotice]>([])
        files.tellUser { notice in told.withLock { $0.append(notice) } }
        let (bob, name) = (try fixture.id("bob"), EntryName("a.bin"))
        let id = try fixture.id("bob/a.bin")
        let handle = try await files.open(id, flags: O_RDONLY, by: getpid()).value()
        #expect(await files.unlink(name, in: bob, by: 1).code() == EPERM, "another program")
        files.release(handle)
        #expect(await files.unlink(name, in: bob, by: getpid()).code() == 0)
        #expect(try fixture.id("bob/a.bin") == id)
        let requests = told.withLock { notices in
            notices.compactMap { notice -> RefusalNotice.Request? in
                if case .refused(let refusal) = notice { refusal.request } else { nil }
            }
        }
        #expect(requests == [.remove, .moveOut])
        let source = NotificationSource(core: fixture.core, contents: fixture.contents, lister: files.lister)
        let last = try #require(told.withLock { $0.last })
        let words = await source.events(of: last).compactMap { event -> String? in
            if case .refused(let request) = event { request.sentence } else { nil }
        }
        // A viewer has read it too, and made no copy.
        #expect(words.count == 1 && words.allSatisfy { $0.contains("If it was moved") })
        await fixture.end()
    }
}
