import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Something belongs to one process at a time")
struct ProcessLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Each attempt opens the file anew, as another process does: flock(2) is of the open file.
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

    @Test func whoIsFinishingIsWaitedFor() async throws {
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

    @Test func whoNeverFinishesIsNotWaitedForLongerThanThePatience() throws {
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

    @Test func aHolderThatSaysNothingIsNoReasonToWaitForever() throws {
        let path = folder.path("lock")
        let silent = try OpenFile(path, flags: O_RDWR | O_CREAT)
        #expect(try silent.tryLock())
        guard case .refused(nil) = try Self.attempt(path, timeout: .seconds(60)) else {
            Issue.record("taken from its holder, or named")
            return
        }
        withExtendedLifetime(silent) {}
    }
}
