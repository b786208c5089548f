import Base
import FileSystem
import Glibc
import Posix

/// Sends notices to the kernel, in their order, on a thread of their own: never one of libfuse's, because a notice waits
/// for locks of the kernel that a request holds while it is answered (the lock of a folder, that of a page).
///
/// That wait ends for no signal. If the daemon is killed meanwhile, the kernel ends the request when it closes the
/// descriptor through which the request was read. So the thread has descriptors of its own, with another one of the
/// connection (`RequestServer.separateNotices`): those of the other threads are closed while it still waits. With
/// common ones, notice and request would wait for each other for ever.
///
/// Somebody else may get the lock first, and ask what nobody answers any more. So as long as a notice waits, a process
/// stands by that refuses requests when the daemon is gone (`RefusalProcess`).
final class KernelNotices: Sendable {
    private struct State {
        /// Those that are not sent.
        var waiting = 0
        var sent = 0
        /// Whether the thread is in the call that may wait.
        var isSending = false
        var isWatched = false
    }

    private let server: RequestServer
    private let thread = ThreadPool(name: "notices", threads: 1)
    private let isSeparate: Bool
    private let state = Lock(State())
    private static let log = Log("fuse")

    /// From then on a notice counts as one that waits: others take microseconds.
    private static let patience = Duration.milliseconds(20)
    /// How often it is looked whether a process still has to stand by.
    private static let standby = Duration.seconds(1)

    /// Blocks until the thread has its descriptors. To be called when the server is mounted.
    init(_ server: RequestServer) {
        self.server = server
        do throws(SystemError) {
            try server.separateNotices(on: thread)
            isSeparate = true
        } catch {
            // Before Linux 5.9, or without /dev/fuse.
            isSeparate = false
            Self.log.debug("Notices share the connection of requests: \(error.sentence)")
        }
    }

    /// Any thread, never waits.
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

    /// The thread lets go of the connection when it has sent what it was given before. Does not wait for that.
    func end() {
        thread.submit { [server] in server.closeConnection() }
    }

    // MARK: - Standing by

    /// Until nothing is left to be sent. There is a process from the moment on in which one waits.
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
            // Nobody cancels it.
            try? await Task.sleep(for: process == nil ? Self.patience : Self.standby)
        }
        guard let process else { return }
        // Before the pipe to it is closed, by which it knows that the daemon has gone.
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
            Self.log.debug("Nobody stands by for a notice that waits: \(error.sentence)")
            return nil
        }
    }
}
