import CLinux
import Glibc

/// Operating-system threads for blocking work. Their signals stay blocked, so only the thread that waits for signals
/// gets them.
public enum Thread {
    /// Starts an essential thread. A failure ends the process.
    public static func start(
        _ name: String, stackSize: Int = 512 << 10, _ body: @escaping @Sendable () -> Void
    ) {
        do throws(SystemError) {
            try begin(name, stackSize: stackSize, body)
        } catch {
            preconditionFailure(error.sentence)
        }
    }

    /// Starts a detached thread. `name` has at most 15 bytes and appears in `ps -T` and in profiles.
    /// - Throws: EAGAIN if the user or the system has too many threads.
    public static func begin(
        _ name: String, stackSize: Int = 512 << 10, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let box = Unmanaged.passRetained(Start(name: name, body: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, stackSize)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, Self.enter, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw SystemError(code: result, operation: "start a thread")
        }
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    // A named nonisolated function: a closure in main-actor code would inherit its isolation.
    private static let enter: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        let start = Unmanaged<Start>.fromOpaque($0!).takeRetainedValue()
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        _ = chatfs_name_thread(start.name)
        start.body()
        return nil
    }
}
