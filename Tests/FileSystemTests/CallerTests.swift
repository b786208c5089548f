import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import FileSystem

@Suite("Openings of remote files by programs")
struct CallerTests {
    private typealias Fixture = FileSystemFixture

    private static let remote = FileStatus.rcvInvitation(described: true)

    private static func fixture(
        _ program: String, status: FileStatus = remote, callers: CallerPolicy = CallerPolicy()
    ) async throws -> Fixture {
        try await Fixture.make(callers: callers, opener: Caller(executable: program)) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 1000, status: status)
        }
    }

    private static func count(_ fixture: Fixture, _ kind: CallerKind) async -> CallerCount? {
        await fixture.fileSystem.status().callers?[kind.rawValue]
    }

    @Test("a thumbnailer is refused and counted")
    func refused() async throws {
        let fixture = try await Self.fixture("/usr/bin/tumblerd")
        for _ in 0..<3 {
            let answer = try fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY)
            #expect(await answer.code() == EACCES)
        }
        #expect(fixture.contents.open.withLock { $0.isEmpty })
        #expect(fixture.core.opened == [])
        #expect(await Self.count(fixture, .thumbnailer) == CallerCount(refused: 3))
        // The attribute concerns the file.
        #expect(try fixture.attribute("user.chatfs.error", of: "bob/a.bin") == nil)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "remote")
    }

    @Test("accented folder names do not hide the program")
    func accents() {
        let folder = "/opt/\u{301}a"
        #expect(Caller(executable: "\(folder)/tumblerd").name == "tumblerd")
        let script = Caller(executable: "/usr/bin/python3", arguments: ["python3", "\(folder)/\u{301}b"])
        #expect(script.name.hasSameBytes(as: "\u{301}b"))
        #expect(ProgramPattern("\(folder)/\u{301}b")?.fits(script) == true)
        #expect(ProgramPattern("python3:\u{301}b")?.fits(script) == true)
    }

    @Test("type detection keeps an open file's pages", arguments: [true, false])
    func pagesOfOpenFile(isOpen: Bool) async throws {
        let fixture = try await Fixture.make(
            opener: Caller(executable: "/usr/bin/program"), traits: ProgramTraits()
        ) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 1 << 20, status: Self.remote)
        }
        let (fs, id) = (fixture.fileSystem, try fixture.id("bob/a.bin"))
        let reader = try await fs.open(id, flags: O_RDONLY).value()
        _ = try await fixture.read(reader, at: 0, count: 100)
        if !isOpen { fs.release(reader) }
        let detection = try await fs.open(id, flags: O_RDONLY | TypeDetection.noAccessTime).value()
        #expect(detection.keepsPages == isOpen)
        fs.release(detection)
        if isOpen { fs.release(reader) }
    }

    @Test("local files are served and not counted")
    func here() async throws {
        let fixture = try await Self.fixture("/usr/bin/tumblerd", status: .rcvComplete)
        #expect(try await fixture.read("bob/a.bin", count: 10).count == 10)
        #expect(await fixture.fileSystem.status().callers == [:])
    }

    @Test("a copy is served and marks as read")
    func served() async throws {
        let fixture = try await Self.fixture("/usr/bin/cp")
        #expect(try await fixture.read("bob/a.bin", count: 10).count == 10)
        #expect(fixture.core.opened == [ItemID(1)])
        #expect(await fixture.fileSystem.status().callers == [:])
    }

    @Test("permitted thumbnailers have a short deadline")
    func allowed() async throws {
        let fixture = try await Self.fixture("/usr/bin/tumblerd", callers: CallerPolicy(previews: .fetch))
        #expect(try await fixture.read("bob/a.bin", count: 10).count == 10)
        #expect(await Self.count(fixture, .thumbnailer) == CallerCount(served: 1))
        // A thumbnailer does not read the message.
        #expect(fixture.core.opened == [])
    }

    @Test("a sniffer gets the first chunk only")
    func beginning() async throws {
        let fixture = try await Self.fixture("/usr/bin/file")
        let item = try #require(fixture.core.state.withLock { $0.items.first })
        fixture.contents.set(.beginning(100), for: item)
        let handle = try await fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY).value()
        defer { fixture.fileSystem.release(handle) }
        #expect(try await fixture.read(handle, at: 10, count: 90) == (10..<100).map { UInt8($0) })
        for (offset, count) in [(UInt64(50), 100), (100, 1), (900, 100)] {
            #expect(await code { _ = try await fixture.read(handle, at: offset, count: count) } == EACCES)
        }
        #expect(try await fixture.read(handle, at: 1000, count: 10).isEmpty)
        #expect(await Self.count(fixture, .sniffer) == CallerCount(limited: 1))
        #expect(fixture.core.opened == [])
    }

    @Test("a failed first chunk gives the file's error")
    func failing() async throws {
        let fixture = try await Self.fixture("/usr/bin/file")
        let item = try #require(fixture.core.state.withLock { $0.items.first })
        fixture.contents.set(.failing(FileProblem(.expired, "It is gone.")), for: item)
        #expect(await code { _ = try await fixture.read("bob/a.bin", count: 10) } == ENODATA)
    }

    @Test("a sniffer never causes a whole-file claim")
    func receivedByCore() async throws {
        let fixture = try await Self.fixture("/usr/bin/file")
        fixture.core.state.withLock { $0.receivesWhatIsClaimed = true }
        let answer = try fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY)
        #expect(await answer.code() == EACCES)
        #expect(fixture.contents.open.withLock { $0.isEmpty })
    }

    @Test("unidentified programs are served")
    func unknown() async throws {
        let isStuck = Lock(true)
        let stuck: @Sendable (pid_t) -> Caller? = { _ in
            while isStuck.withLock({ $0 }) { usleep(1000) }
            return nil
        }
        for identify in [{ @Sendable _ in nil }, stuck] {
            let check = CallerCheck(MountPermissions(), identify: identify)
            #expect(await check.access(of: 1) == .full)
            #expect(check.counts == [:])
        }
        isStuck.withLock { $0 = false }
        // A busy machine may need longer than the limit of a mount.
        let check = CallerCheck(
            MountPermissions(), identify: { _ in Caller(executable: "tumblerd") }, timeout: .seconds(60))
        #expect(await check.access(of: 0) == .full)
        #expect(await check.access(of: 1) == .none)
    }

    @Test("a program's name is one word in logs")
    func names() {
        #expect(Caller(executable: "/a/b\u{1B}[31m\n thing-2.0").printableName == "b31mthing-2.0")
        #expect(Caller(executable: String(repeating: "x", count: 500)).printableName.count == 64)
    }
}
