import Base
import Glibc
import TestSupport
import Testing

@testable import Desktop
@testable import Posix

@Suite("Mounts seen from other processes")
struct MountedTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("foreign mounts are ignored")
    func none() throws {
        for path in [folder.path, "/proc", folder.path("none")] {
            let error = #expect(throws: DesktopError.self) { try Mounted.at(path) }
            #expect(error?.code == .notMounted && error?.sentence.contains(path) == true, "\(path)")
        }
        #expect(try !Mounted.all().contains { $0.mountpoint == "/proc" || $0.mountpoint == folder.path })
    }

    @Test("status bytes are returned unchanged")
    func status() throws {
        for bytes in [[], Array("{}".utf8), [UInt8](repeating: 0xFF, count: 100_000)] as [[UInt8]] {
            #expect(Mounted.read(try folder.write(bytes, to: "status")) == .status(bytes))
        }
    }

    @Test("silent mounts are queried together", .timeLimit(.minutes(1)))
    func together() async {
        let mounts = (0..<20).map { number in
            Mounted(
                mount: MountTable.Mount(
                    id: number, device: "0:\(number)", path: "/\(number)", type: "fuse.chatfs", source: ""))
        }
        let asked = Lock(0)
        let answers = await Mounted.answers(of: mounts) { mounted in
            asked.withLock { $0 += 1 }
            while asked.withLock({ $0 }) < mounts.count { try? await Task.sleep(for: .milliseconds(1)) }
            return mounted.mount.id % 2 == 0 ? .silent : .status([UInt8(mounted.mount.id)])
        }
        #expect(answers.map(\.mounted) == mounts)
        #expect(answers[3].answer == .status([3]) && answers[4].answer == .silent)
        #expect(await Mounted.answers(of: []).isEmpty)
    }

    @Test("exhausted descriptors are not taken for silence")
    func exhausted() async throws {
        let status = try folder.write([1], to: "status")
        await #expect(processExitsWith: .success) { [status = status as String] in
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // All lower descriptors are in use.
            var taken: [OpenFile] = []
            limit.rlim_cur = 64
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while let file = try? OpenFile("/dev/null", flags: O_RDONLY) { taken.append(file) }
            guard case .unasked(let error) = Mounted.read(status) else {
                preconditionFailure("\(Mounted.read(status))")
            }
            precondition(error.code == EMFILE && error.sentence.contains("Too many open files"))
            taken.removeLast()
            precondition(Mounted.read(status) == .status([1]))
        }
    }

    @Test("unreadable status is silent or foreign")
    func refused() throws {
        #expect(Mounted.read(folder.path("none")) == .silent)
        #expect(Mounted.read(folder.path) == .silent)
        guard geteuid() != 0 else { return }
        let path = try folder.write([1], to: "status")
        chmod(path, 0)
        #expect(Mounted.read(path) == .foreign)
    }

    @Test(
        "holders are named with three uses",
        arguments: [
            ([], "cat (process 7: )"), (["a"], "cat (process 7: a)"),
            (["a", "b", "c"], "cat (process 7: a, b, c)"),
            (["a", "b", "c", "d"], "cat (process 7: a, b, c and 1 more)"),
            ((1...12).map { "\($0)" }, "cat (process 7: 1, 2, 3 and 9 more)"),
        ])
    func holders(uses: [String], text: String) {
        #expect(MountHolder(process: 7, name: "cat", uses: uses).text == text)
    }
}
