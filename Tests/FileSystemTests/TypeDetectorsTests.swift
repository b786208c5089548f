import Base
import Glibc
import Namespace
import Posix
import Testing

@testable import FileSystem

@Suite("Threads that detect types")
struct TypeDetectorsTests {
    private static let gio = ProgramTraits(loadsGIO: true)
    private static let folder = NodeID(2000)
    private let now = ContinuousClock.now

    private static func opening(
        _ name: String, _ flags: Int32 = O_RDONLY | TypeDetection.noAccessTime, in folder: NodeID = folder
    ) -> ItemOpening {
        ItemOpening(flags: flags, name: EntryName(name), folder: folder, size: 1 << 20)
    }

    /// A check that counts how often it reads about the program.
    private static func check(
        _ traits: ProgramTraits, memory: Duration, _ program: String = "/usr/bin/nautilus"
    ) -> (CallerCheck, Lock<Int>) {
        let looks = Lock(0)
        let check = CallerCheck(
            MountPermissions(), identify: { _ in Caller(executable: program) },
            look: { _, _ in
                looks.withLock { $0 += 1 }
                return traits
            }, timeout: .seconds(60), memory: memory)
        return (check, looks)
    }

    @Test("one look serves a thousand files")
    func window() async {
        let (check, looks) = Self.check(Self.gio, memory: .seconds(36_000))
        for number in 0..<1000 {
            #expect(await check.access(of: getpid(), Self.opening("\(number)")) == .typeOnly)
        }
        #expect(looks.withLock { $0 } == 1)
        #expect(check.counts == ["sniffer": CallerCount(refused: 1000)])
        // The copy that follows from the same thread.
        #expect(await check.access(of: getpid(), Self.opening("1", O_RDONLY)) == .full)
        #expect(looks.withLock { $0 } == 2)
        #expect(await check.access(of: getpid(), Self.opening("1", in: NodeID(3000))) == .typeOnly)
        #expect(looks.withLock { $0 } == 3)
    }

    @Test("traits are read again after their time")
    func memory() async {
        let (check, looks) = Self.check(Self.gio, memory: .zero)
        for _ in 0..<3 { #expect(await check.access(of: getpid(), Self.opening("a")) == .typeOnly) }
        #expect(looks.withLock { $0 } == 3)
    }

    @Test("a reader is not remembered")
    func reader() async {
        let window = ProgramTraits(loadsQt: true, showsFolder: false)
        let (check, looks) = Self.check(window, memory: .seconds(36_000))
        for _ in 0..<3 { #expect(await check.access(of: getpid(), Self.opening("a", O_RDONLY)) == .full) }
        #expect(looks.withLock { $0 } == 3)
    }

    @Test("a background program is refused as such")
    func background() async {
        let (check, looks) = Self.check(Self.gio, memory: .seconds(36_000), "/usr/bin/tumblerd")
        for _ in 0..<3 { #expect(await check.access(of: getpid(), Self.opening("a")) == .none) }
        #expect(looks.withLock { $0 } == 0)
        #expect(check.counts == ["thumbnailer": CallerCount(refused: 3)])
    }

    @Test("another program in the same thread is unknown")
    func otherProgram() {
        var detectors = TypeDetectors(lifetime: .seconds(1))
        #expect(detectors.isEmpty)
        detectors.note(Self.gio, of: 7, running: "/usr/bin/nautilus", in: Self.folder, at: now)
        func traits(_ thread: pid_t, _ program: String, _ folder: NodeID, _ after: Duration) -> ProgramTraits?
        { detectors.traits(of: thread, running: program, in: folder, at: now + after) }
        #expect(traits(7, "/usr/bin/nautilus", Self.folder, .milliseconds(999)) == Self.gio)
        #expect(traits(7, "/usr/bin/nautilus", Self.folder, .seconds(1)) == nil)
        #expect(traits(7, "/usr/bin/cp", Self.folder, .zero) == nil)
        #expect(traits(8, "/usr/bin/nautilus", Self.folder, .zero) == nil)
        #expect(traits(7, "/usr/bin/nautilus", NodeID(9), .zero) == nil)
    }

    @Test("the number of remembered threads is bounded")
    func bounds() {
        var detectors = TypeDetectors(lifetime: .seconds(1))
        for thread in pid_t(1)...1000 {
            detectors.note(Self.gio, of: thread, running: "a", in: Self.folder, at: now)
        }
        let known = (pid_t(1)...1000).count {
            detectors.traits(of: $0, running: "a", in: Self.folder, at: now) != nil
        }
        #expect(0 < known && known <= TypeDetectors.limit)
    }
}
