import ChatCore
import Glibc
import Posix
import Testing

@testable import FileSystem

@Suite("Type detection by windows")
struct FolderViewerTests {
    private typealias Fixture = FileSystemFixture

    private static let noAccessTime = O_RDONLY | TypeDetection.noAccessTime
    private static let size = 1 << 20

    private static func fixture(
        _ traits: ProgramTraits?, _ program: String = "/usr/bin/program",
        status: FileStatus = .rcvInvitation(described: true), callers: CallerPolicy = CallerPolicy(),
        name: String = "backup"
    ) async throws -> Fixture {
        try await Fixture.make(callers: callers, opener: Caller(executable: program), traits: traits) {
            _ = $0.received(name, in: Fixture.bob, size: UInt64(size), status: status)
        }
    }

    private static func read(
        _ fixture: Fixture, _ flags: Int32, name: String = "backup", at offset: UInt64 = 0, _ count: Int
    ) async throws -> Int {
        let handle = try await fixture.fileSystem.open(fixture.id("bob/" + name), flags: flags).value()
        defer { fixture.fileSystem.release(handle) }
        return try await fixture.read(handle, at: offset, count: count).count
    }

    @Test func gioIsRefusedWithoutCount() async throws {
        let fixture = try await Self.fixture(ProgramTraits(loadsGIO: true))
        let answer = try fixture.fileSystem.open(fixture.id("bob/backup"), flags: Self.noAccessTime)
        #expect(await answer.code() == EACCES)
        #expect(fixture.contents.open.withLock { $0.isEmpty })
        #expect(fixture.core.opened == [])
        #expect(await fixture.fileSystem.status().callers == ["sniffer": CallerCount(refused: 1)])
        #expect(try fixture.attribute("user.chatfs.error", of: "bob/backup") == nil)
    }

    @Test func copyBySameProgramIsServed() async throws {
        let fixture = try await Self.fixture(ProgramTraits(loadsGIO: true, loadsQt: true, showsFolder: false))
        _ = await code { _ = try await Self.read(fixture, Self.noAccessTime, 4096) }
        #expect(try await Self.read(fixture, O_RDONLY, 131_072) == 131_072)
        #expect(fixture.core.opened == [ItemID(1)])
    }

    @Test func qtWindowIsRefusedOnlyUnsettledNames() async throws {
        let window = ProgramTraits(loadsQt: true, showsFolder: true)
        let fixture = try await Self.fixture(window)
        #expect(await code { _ = try await Self.read(fixture, O_RDONLY, 32_768) } == EACCES)
        #expect(fixture.core.opened == [])
        let settled = try await Self.fixture(window, name: "a.pdf")
        #expect(try await Self.read(settled, O_RDONLY, name: "a.pdf", 32_768) == 32_768)
        #expect(settled.core.opened == [ItemID(1)])
    }

    @Test func workerIsServedUnlessItReadsBeginning() async throws {
        let worker = ProgramTraits(loadsQt: true, showsFolder: true, isWorker: true)
        for (offset, count, code) in [(UInt64(0), 32_768, EACCES), (0, 65_536, 0), (32_768, 4096, 0)] {
            let fixture = try await Self.fixture(worker)
            let item = try #require(fixture.core.state.withLock { $0.items.first })
            fixture.contents.set(.later, for: item)
            let outcome = await FileSystemTests.code {
                _ = try await Self.read(fixture, O_RDONLY, at: offset, count)
            }
            #expect(outcome == code, "\(offset), \(count)")
            #expect(fixture.core.opened == (code == 0 ? [ItemID(1)] : []))
        }
    }

    @Test func detectionReadsLocalBytesWithoutCount() async throws {
        let worker = ProgramTraits(loadsQt: true, showsFolder: true, isWorker: true)
        let fixture = try await Self.fixture(worker)
        #expect(try await Self.read(fixture, O_RDONLY, 32_768) == 32_768)
        #expect(fixture.core.opened == [])
    }

    @Test func openingWithoutReadIsNotCounted() async throws {
        let fixture = try await Self.fixture(nil)
        let handle = try await fixture.fileSystem.open(fixture.id("bob/backup"), flags: O_RDONLY).value()
        #expect(fixture.core.opened == [])
        _ = try await fixture.read(handle, at: 5, count: 5)
        _ = try await fixture.read(handle, at: 10, count: 5)
        fixture.fileSystem.release(handle)
        #expect(fixture.core.opened == [ItemID(1)])
    }

    @Test func ruleOfUserLetsProgramFetch() async throws {
        let rule = try #require(ProgramPattern("program"))
        let fixture = try await Self.fixture(
            ProgramTraits(loadsGIO: true), callers: CallerPolicy(allowed: [rule]))
        #expect(try await Self.read(fixture, Self.noAccessTime, 4096) == 4096)
        #expect(fixture.core.opened == [ItemID(1)])
    }

    @Test func detectionOfStoredFileIsNotCounted() async throws {
        let fixture = try await Self.fixture(ProgramTraits(loadsGIO: true), status: .rcvComplete)
        #expect(try await Self.read(fixture, Self.noAccessTime, 4096) == 4096)
        #expect(fixture.core.opened == [])
        #expect(try await Self.read(fixture, O_RDONLY, name: "backup", 4096) == 4096)
        for _ in 0..<2000 where fixture.core.opened.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(fixture.core.opened == [ItemID(1)])
    }
}
