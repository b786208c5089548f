import Base
import FileSystem
import Glibc
import Posix

/// Sends notices to the kernel, in order, on a thread of its own. A libfuse thread must not send them, because a notice
/// waits for kernel locks (of a directory or a page) that are held while a request is answered.
///
/// No signal ends that wait. If the daemon is killed meanwhile, the kernel ends the request when the descriptor that
/// read it is closed. The thread therefore has a separate descriptor table with another descriptor of the connection
/// (`RequestServer.separateNotices`), so that the other threads' descriptors close while it still waits. With a common
/// table, notice and request would wait for each other for ever.
///
/// Another process may get the lock first and send a request that no daemon answers. While a notice waits, a
/// `RefusalProcess` stands by, which refuses requests once the daemon is gone.
final class KernelNotices: Sendable {
    private struct State {
        /// Number of unsent notices.
        var waiting = 0
        var sent = 0
        /// True while the thread is in the call that may wait.
        var isSending = false
        var isWatched = false
    }

    private let server: RequestServer
    private let thread = ThreadPool(name: "notices", threads: 1)
    private let isSeparate: Bool
    private let state = Lock(State())
    private static let log = Log("fuse")

    /// Delay after which a notice counts as waiting; others take microseconds.
    private static let retryDelay = Duration.milliseconds(20)
    /// Interval of the checks that end the standby process.
    private static let standby = Duration.seconds(1)

    /// Blocks until the thread has its descriptors. Called after the mount.
    init(_ server: RequestServer) {
        self.server = server
        do throws(SystemError) {
            try server.separateNotices(on: thread)
            isSeparate = true
        } catch {
            // Before Linux 5.9, or without /dev/fuse.
            isSeparate = false
            Self.log.debug("notices share the connection: error=\(error.sentence)")
        }
    }

    /// Queues a notice. Thread-safe; never waits.
    func send(_ notice: KernelNotice) {
        let begins = state.withLock { state in
            state.waiting += 1
            defer { state.isWatched = true }
            return !state.isWatched
        }
        thread.submit { self.sendNow(notice) }
        if begins, isSeparate { Task { await self.watch() } }
    }

    private func sendNow(_ notice: KernelNotice) {
        state.withLock { $0.isSending = true }
        server.send(notice)
        state.withLock { state in
            state.isSending = false
            state.waiting -= 1
            state.sent += 1
        }
    }

    /// Closes the thread's connection after the queued notices. Does not wait.
    func end() {
        thread.submit { [server] in server.closeConnection() }
    }

    // MARK: - Standby process

    /// Runs until all notices are sent. Keeps a process from the moment that a notice waits.
    private func watch() async {
        var process: ChildProcess?
        var before: Int?
        while true {
            let now = state.withLock { state -> State in
                state.isWatched = state.waiting > 0
                return state
            }
            guard now.isWatched else { break }
            if process == nil, now.isSending, now.sent == before { process = await standBy() }
            before = now.isSending ? now.sent : nil
            // Never cancelled.
            try? await Task.sleep(for: process == nil ? Self.retryDelay : Self.standby)
        }
        guard let process else { return }
        // Must precede closing its pipe, which tells the process that the daemon has ended.
        process.send(SIGKILL)
        _ = await process.ending(within: .seconds(10))
    }

    private func standBy() async -> ChildProcess? {
        do throws(SystemError) {
            let connection = try server.another()
            var settings = ChildProcess.Settings.conversing(RefusalProcess.word)
            settings.arguments.append("\(getpid())")
            settings.input = .file(connection)
            settings.parentDeathSignal = 0
            return try await ChildProcess.start(settings)
        } catch {
            Self.log.debug("no standby process: error=\(error.sentence)")
            return nil
        }
    }
}
