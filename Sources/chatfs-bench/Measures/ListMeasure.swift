import Base
import Glibc
import Posix

extension Measure {
    /// The first listing of a large folder on a mount that was just made, alone and while readers wait for a
    /// relay that stands still.
    static let list = Measure(
        name: "list", abstract: "first listing with stat of 10,000 entries, also with 100 waiting readers"
    ) { stage in
        let count = stage.plan.entries
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        var bob = try await chats.mount("bob", relays: [relay.address])
        let plain = try stage.makeFolder("plain/names")
        for folder in [bob.file("Saved notes"), plain] { try await NameWork.fill(folder, count: count) }
        try await stage.waitForNotes(in: bob.file("Saved notes"), count: count)
        let waitingFor = stage.plan.waitingReaders
        let many = alice.inGroup("")
        try await NameWork.fill(many, count: waitingFor, size: 5 << 16)
        let received = bob.inGroup("")
        try await stage.wait(for: "the files at their receiver") {
            try NameWork.paths(in: received).count == waitingFor
        }
        try await stage.waitForNotes(in: many, count: waitingFor)
        await stage.end(alice.process)
        await stage.end(bob.process)

        var (alone, frozen, native, theirs): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<stage.plan.repetitions {
            bob = try await chats.mount("bob", relays: [relay.address])
            alone.append(try await first(bob.file("Saved notes"), count))
            await stage.end(bob.process)

            let passthrough = try await Passthrough.mount(program, plain, on: stage)
            theirs.append(try await first(passthrough.path, count))
            await stage.end(passthrough.process)
            native.append(try await first(plain, count))

            bob = try await chats.mount("bob", relays: [relay.address])
            relay.process.send(SIGSTOP)
            let readers = try await WaitingReaders.start(on: bob)
            frozen.append(try await first(bob.file("Saved notes"), count))
            let answered = readers.answered
            // Nobody will answer these readers: they end with the mount.
            bob.process.child.sendToGroup(SIGKILL)
            await stage.end(bob.process)
            _ = try await MountTable.mount(at: bob.path)?.detach()
            relay.process.send(SIGCONT)
            guard answered == 0 else { throw BenchError(.wrong, "A reader did not have to wait.") }
        }
        let title = "first listing with stat of \(count) entries"
        let reference = Reference(Passthrough.name, theirs)
        return [
            Row("list", title, .milliseconds, alone, beside: reference, target: .ratioAtMost(1.5)),
            Row("list", title, .milliseconds, alone, beside: Reference(plainName, native)),
            Row(
                "list-frozen", title + ", \(waitingFor) readers waiting", .milliseconds, frozen,
                beside: reference, target: .ratioAtMost(2)),
        ]
    }

    private static func first(_ folder: String, _ count: Int) async throws -> Double {
        1000 * (try await ThreadPool.shared.run { try NameWork.list(folder, expecting: count) })
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
        // From open to the read is a moment.
        try await Task.sleep(for: .milliseconds(200))
        return readers
    }
}
