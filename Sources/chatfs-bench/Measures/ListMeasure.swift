import Base
import Glibc
import Posix

/// The first listing of a large folder on a new mount, alone and while readers wait for a stopped relay.
struct ListMeasure: Measure {
    let name = "list"
    let abstract =
        "first listing with stat of 10,000 entries, also with 100 waiting readers"

    func take(on stage: Stage) async throws -> [Row] {
        let folders = try await ListedFolders.make(on: stage)
        var (alone, frozen, theirs): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<stage.plan.repetitions {
            alone.append(try await folders.listAlone())
            theirs.append(try await folders.listPassthrough())
            frozen.append(try await folders.listWhileReadersWait())
        }
        let title = "first listing with stat of \(stage.plan.entries) entries"
        let reference = Reference(Passthrough.name, theirs)
        return [
            Row("list", title, .milliseconds, alone, beside: reference, target: .ratioAtMost(1.5)),
            Row(
                "list-frozen", title + ", \(stage.plan.waitingReaders) readers waiting", .milliseconds,
                frozen,
                beside: reference, target: .ratioAtMost(2)),
        ]
    }
}

/// A large folder of a profile, the same on the disk, and files of a group that only a relay has.
private struct ListedFolders: Sendable {
    private let stage: Stage
    private let relay: OwnRelay
    private let chats: Chats
    private let passthrough: String
    private let plain: String
    private var count: Int { stage.plan.entries }

    static func make(on stage: Stage) async throws -> ListedFolders {
        let count = stage.plan.entries
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let bob = try await chats.mount("bob", relays: [relay.address])
        let plain = try stage.makeFolder("plain/names")
        for folder in [bob.file("Saved notes"), plain] { try await NameWork.fill(folder, count: count) }
        try await stage.waitForNotes(in: bob.file("Saved notes"), count: count)
        let waiting = stage.plan.waitingReaders
        let many = alice.inGroup("")
        try await NameWork.fill(many, count: waiting, size: 5 << 16)
        let received = bob.inGroup("")
        try await stage.wait(for: "the files at their receiver") {
            try NameWork.paths(in: received).count == waiting
        }
        try await stage.waitForNotes(in: many, count: waiting)
        await stage.end(alice.process)
        await stage.end(bob.process)
        return ListedFolders(
            stage: stage, relay: relay, chats: chats, passthrough: program, plain: plain)
    }

    private func mount() async throws -> Mounted {
        try await chats.mount("bob", relays: [relay.address])
    }

    /// Milliseconds, as for the others, on a new mount.
    func listAlone() async throws -> Double {
        let mount = try await mount()
        let time = try await first(mount.file("Saved notes"))
        await stage.end(mount.process)
        return time
    }

    func listPassthrough() async throws -> Double {
        let mount = try await Passthrough.mount(passthrough, plain, on: stage)
        let time = try await first(mount.path)
        await stage.end(mount.process)
        return time
    }

    /// The relay is stopped meanwhile.
    func listWhileReadersWait() async throws -> Double {
        let mount = try await mount()
        relay.process.send(SIGSTOP)
        let readers = try await WaitingReaders.start(on: mount)
        let time = try await first(mount.file("Saved notes"))
        let answered = readers.answered
        // These readers get no answer and end with the mount.
        mount.process.child.sendToGroup(SIGKILL)
        await stage.end(mount.process)
        _ = try await MountTable.mount(at: mount.path)?.detach()
        relay.process.send(SIGCONT)
        guard answered == 0 else { throw BenchError(.wrong, "A reader did not have to wait.") }
        return time
    }

    private func first(_ folder: String) async throws -> Double {
        let count = count
        return 1000 * (try await ThreadPool.shared.run { try NameWork.list(folder, expecting: count) })
    }
}

/// One thread for each file of the group, which reads its first byte.
private final class WaitingReaders: Sendable {
    private let state = Lock((begun: 0, answered: 0))

    var answered: Int { state.withLock { $0.answered } }

    /// Returns when all of them wait.
    static func start(on mount: Mounted) async throws -> WaitingReaders {
        let readers = WaitingReaders()
        let paths = try await ThreadPool.shared.run { try NameWork.paths(in: mount.inGroup("")) }
        for path in paths {
            Thread.start("bench-reader") {
                guard let file = try? OpenFile(path, flags: O_RDONLY) else { return }
                readers.state.withLock { $0.begun += 1 }
                guard (try? file.read(count: 1, at: 0))?.count == 1 else { return }
                readers.state.withLock { $0.answered += 1 }
            }
        }
        let end = ContinuousClock.now + .seconds(30)
        while readers.state.withLock({ $0.begun }) < paths.count, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(5))
        }
        // The read follows the open after a moment.
        try await Task.sleep(for: .milliseconds(200))
        return readers
    }
}
