import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Locks between processes")
struct ProcessLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Each attempt opens the file again, as another process does, because flock(2) locks the open file.
    private static func attempt(
        _ path: String, mountpoint: String? = nil, timeout: Duration = .zero
    ) throws -> ProcessLock.Attempt {
        try ProcessLock.take(
            OpenFile(path, flags: O_RDWR | O_CREAT), mountpoint: mountpoint, timeout: timeout)
    }

    private static func taken(_ attempt: ProcessLock.Attempt) -> ProcessLock? {
        if case .taken(let lock) = attempt { lock } else { nil }
    }

    @Test func aRunningHolderIsNamedAtOnce() throws {
        let path = folder.path("lock")
        let holder = try #require(Self.taken(try Self.attempt(path, mountpoint: "/home/me/My\nChats")))
        guard case .refused(let named?) = try Self.attempt(path, timeout: .seconds(60)) else {
            Issue.record("taken twice")
            return
        }
        #expect(named == .init(process: getpid(), state: .running, mountpoint: "/home/me/My\nChats"))
        #expect(named.description == "process \(getpid()), mounted at /home/me/My\nChats")
        withExtendedLifetime(holder) {}
    }

    @Test func aFinishingHolderIsAwaited() async throws {
        let path = folder.path("lock")
        let holder = try #require(Self.taken(try Self.attempt(path)))
        holder.finish()
        async let next = ThreadPool.shared.run {
            try Self.attempt(path, mountpoint: "/next", timeout: .seconds(60))
        }
        try await Task.sleep(for: .milliseconds(120))
        holder.release()
        let lock = try #require(Self.taken(try await next))
        let text = String(decoding: try folder.read("lock"), as: UTF8.self)
        #expect(
            ProcessLock.Holder(text) == .init(process: getpid(), state: .running, mountpoint: "/next"))
        withExtendedLifetime(lock) {}
    }

    @Test func waitingForAFinishingHolderHasALimit() throws {
        let path = folder.path("lock")
        let holder = try #require(Self.taken(try Self.attempt(path)))
        holder.finish()
        guard case .refused(let named) = try Self.attempt(path, timeout: .milliseconds(150)) else {
            Issue.record("taken twice")
            return
        }
        #expect(named?.state == .finishing)
        withExtendedLifetime(holder) {}
    }

    @Test func waitingForASilentHolderHasALimit() throws {
        let path = folder.path("lock")
        let silent = try OpenFile(path, flags: O_RDWR | O_CREAT)
        #expect(try silent.tryLock())
        guard case .refused(nil) = try Self.attempt(path, timeout: .seconds(60)) else {
            Issue.record("taken from its holder, or named")
            return
        }
        withExtendedLifetime(silent) {}
    }

    @Test func theReportedHolderIsAlwaysTheCurrentOne() async throws {
        let path = folder.path("lock")
        // Mountpoints of all lengths expose partial and mixed reads.
        let mountpoints = (0..<40).map { "/" + String(repeating: "m", count: $0 * 7) + "/\($0)" }
        let isOver = Lock(false)
        async let changing: Void = ThreadPool.shared.run {
            defer { isOver.withLock { $0 = true } }
            for round in 0..<400 {
                let place = mountpoints[round % mountpoints.count]
                guard let lock = Self.taken(try Self.attempt(path, mountpoint: place, timeout: .seconds(60)))
                else { continue }
                if round % 3 == 0 { lock.finish() }
                lock.release()
            }
        }
        while !isOver.withLock({ $0 }) {
            let attempt = try await ThreadPool.shared.run { try Self.attempt(path, timeout: .seconds(60)) }
            switch attempt {
            case .taken(let lock): lock.release()
            case .refused(let holder):
                let holder = try #require(holder, "it did not say who has it")
                #expect(holder.process == getpid())
                #expect(holder.mountpoint.map(mountpoints.contains) ?? true)
            }
        }
        try await changing
    }

    @Test func aNewHolderIsNotTakenForADeadOne() async throws {
        let path = folder.path("lock")
        let dead = try await Shell.script("echo $$")
        let before = dead.output + "running\n/a/long/way/to/the/mountpoint/of/the/one/before"
        try folder.write(Array(before.utf8), to: "lock")
        // Another process has the lock and has not written yet.
        let next = try OpenFile(path, flags: O_RDWR)
        #expect(try next.tryLock())
        async let attempt = ThreadPool.shared.run { try Self.attempt(path, timeout: .seconds(60)) }
        try await Task.sleep(for: .milliseconds(120))
        try next.write(Array("\(getpid())\nrunning\n/next\0".utf8), at: 0)
        guard case .refused(let named?) = try await attempt else {
            Issue.record("taken twice, or nobody named")
            return
        }
        #expect(named == .init(process: getpid(), state: .running, mountpoint: "/next"))
        withExtendedLifetime(next) {}
    }
}
