import Base
import Glibc
import Posix
import Testing

@Suite struct ThreadPoolTests {
    let pool = ThreadPool(name: "test", threads: 4)

    @Test func blockedWorkDoesNotStopOtherWork() async {
        let gate = OpenGate()
        async let blocked: Void = pool.run { gate.wait() }
        #expect(await pool.run { 7 } == 7)
        gate.open()
        await blocked
    }

    @Test func anErrorOfTheWorkReachesTheCaller() async {
        await #expect(throws: SystemError(code: ENOSPC, operation: "test")) {
            try await pool.run { () throws(SystemError) in throw SystemError(code: ENOSPC, operation: "test")
            }
        }
    }

    @Test func everyPieceRunsOnce() async {
        let ran = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3000 { group.addTask { await pool.run { ran.withLock { $0 += 1 } } } }
        }
        #expect(ran.withLock { $0 } == 3000)
    }

    @Test func aTaskRunsOnThePoolItPrefers() async {
        let name = await Task(executorPreference: pool) { threadName() }.value
        #expect(name.hasPrefix("test-"))
    }
}

/// Blocks threads until it is opened.
private final class OpenGate: Sendable {
    private let wakeUp = try! WakeUp()

    func open() { wakeUp.notify() }

    func wait() {
        var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: 60_000)
    }
}

/// The name of the calling thread, as in `ps -T`.
private func threadName() -> String {
    let file = try? OpenFile("/proc/thread-self/comm", flags: O_RDONLY)
    return String(decoding: (try? file?.read(count: 16, at: 0)) ?? [], as: UTF8.self)
}
