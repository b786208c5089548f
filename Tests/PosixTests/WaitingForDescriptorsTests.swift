import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite struct WaitingForDescriptorsTests {
    /// A handler without SA_RESTART: poll(2) is interrupted in any case, and nothing else may hide it.
    private static func installHandler() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, nil)
    }

    @Test("signals do not end a wait")
    func interrupted() async throws {
        Self.installHandler()
        let wakeUp = try WakeUp()
        let waiting = Lock<pthread_t?>(nil)
        let woken = Lock<(count: Int, revents: Int16)?>(nil)
        Thread.start("waits") {
            // Our threads get no signals by default.
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            waiting.withLock { $0 = pthread_self() }
            // Results of an earlier wait.
            var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: Int16(POLLHUP))]
            let count = poll(&requests, milliseconds: -1)
            woken.withLock { $0 = (count, requests[0].revents) }
        }
        try await wait(until: "the thread is there") { waiting.withLock { $0 } != nil }
        for _ in 0..<20 {
            if let thread = waiting.withLock({ $0 }) { pthread_kill(thread, SIGUSR2) }
            try await Task.sleep(for: .milliseconds(5))
            #expect(woken.withLock { $0 } == nil)
        }
        wakeUp.notify()
        try await wait(until: "it is woken") { woken.withLock { $0 } != nil }
        let result = woken.withLock { $0 }
        #expect(result?.count == 1 && result?.revents == Int16(POLLIN))
    }

    @Test("a limited wait ends, even if the kernel refuses it")
    func limits() throws {
        let wakeUp = try WakeUp()
        var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: Int16(POLLIN))]
        #expect(poll(&requests, milliseconds: 0) == 0 && requests[0].revents == 0)
        #expect(poll(&requests, milliseconds: 10) == 0)
        // More descriptors than a process may have: EINVAL.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < 200_000 else { return }
        var many = [pollfd](
            repeating: pollfd(fd: -1, events: 0, revents: Int16(POLLIN)), count: Int(limit.rlim_cur) + 1)
        #expect(poll(&many, milliseconds: 60) == 0 && many.allSatisfy { $0.revents == 0 })
    }

    @Test("proc files of missing processes give nothing")
    func processes() async throws {
        let own = getpid()
        #expect(ProcessInformation.processes().contains(own))
        let maps = try #require(ProcessInformation.bytes(of: "/proc/\(own)/maps", limit: 4 << 20))
        #expect(maps.count > 4096 && maps.last == UInt8(ascii: "\n"))
        #expect(ProcessInformation.bytes(of: "/proc/\(own)/comm", limit: 3)?.count == 3)
        #expect(ProcessInformation.bytes(of: "/proc/\(own)/maps", limit: 5000)?.count == 5000)
        #expect(ProcessInformation.names(in: "/proc/\(own)/fd").contains("0"))
        #expect(ProcessInformation.bytes(of: "/proc/0/comm") == nil)
        #expect(ProcessInformation.names(in: "/proc/0/fd").isEmpty)
    }
}
