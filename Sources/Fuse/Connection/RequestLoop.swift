import Base
import CFuse3
import CLinux
import Glibc
import Posix

/// Reads the requests of a connection and has libfuse perform each, on threads of its own.
///
/// libfuse has such a loop, which shows nothing of what it reads and ends its threads wherever they are; the calls
/// with which a program could read in its place (`fuse_session_custom_io`) are missing in some builds of 3.18. Answers
/// and notices are written by libfuse.
final class RequestLoop: @unchecked Sendable {
    // Safe: libfuse's functions that are called on `session` are made for several threads.
    private let session: OpaquePointer
    private let connection: Int32
    private let context: RequestContext
    private let demand = Lock(ThreadDemand(limit: maxThreads))
    private let running = Monitor(0)

    /// Nothing that they do waits for more than this machine's disk.
    private static let maxThreads = 8
    /// The kernel refuses to be read with less than the largest write and what goes before it (80 bytes).
    private static let bufferSize = Agreement.maxWrite + 4096
    /// As libfuse's own threads have.
    private static let stackSize = 8 << 20
    /// FUSE_FORGET and FUSE_BATCH_FORGET of `linux/fuse.h`.
    private static let short: (UInt32, UInt32) = (2, 42)

    private static let log = Log("fuse")

    /// - Parameter session: mounted, or connected.
    init(_ session: OpaquePointer, _ context: RequestContext) {
        self.session = session
        self.context = context
        connection = fuse_session_fd(session)
    }

    /// Serves the connection until it has ended, or the session was marked (`fuse_session_exit`). All threads have
    /// left when this returns. Blocks.
    func run() {
        guard beginThread() else { return }
        running.wait { $0 == 0 ? true : nil }
    }

    /// Has the kernel send a request, for which a thread waits that is to see that the session is marked.
    /// - Returns: 0 or a negative errno.
    @discardableResult
    static func provokeRequest(of session: OpaquePointer) -> Int32 {
        fuse_lowlevel_notify_retrieve(session, fuse_ino_t(FUSE_ROOT_ID), 1, 0, nil)
    }

    private func beginThread() -> Bool {
        running.change { $0 += 1 }
        do throws(SystemError) {
            try Thread.begin("requests", stackSize: Self.stackSize) {
                self.serve()
                self.running.change { $0 -= 1 }
            }
            return true
        } catch {
            Self.log.warning("One thread less answers requests: \(error.sentence)")
            running.change { $0 -= 1 }
            return false
        }
    }

    // MARK: - On a thread

    private func serve() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 16)
        defer { buffer.deallocate() }
        while fuse_session_exited(session) == 0 {
            context.nextRequest.pollBriefly(on: connection)
            let count = read(connection, buffer.baseAddress, buffer.count)
            if count >= MemoryLayout<chatfs_fuse_request>.size {
                perform(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
            } else if !goesOn(after: count, errno) {
                return
            }
        }
        wakeNext()
    }

    /// Whether the connection is still there when nothing was read.
    private func goesOn(after count: Int, _ code: Int32) -> Bool {
        // ENOENT: who asked has given up.
        if count < 0, code == ENOENT || code == EINTR || code == EAGAIN { return true }
        fuse_session_exit(session)
        // ENODEV: the mount is gone. Nothing from a socket: so is the test. Both end every thread's read.
        if count < 0, code != ENODEV {
            Self.log.error(SystemError(code: code, operation: "read a request").sentence)
            wakeNext()
        }
        return false
    }

    /// Another thread may be waiting in read(2), which only a request ends; it wakes the next in turn.
    private func wakeNext() {
        while Self.provokeRequest(of: session) == -ENOMEM { usleep(10_000) }
    }

    private func perform(_ request: UnsafeMutableRawBufferPointer) {
        let operation = request.load(as: chatfs_fuse_request.self).operation
        context.counts.note(operation)
        context.idleMemory.requestCame(context.counts)
        let isShort = operation == Self.short.0 || operation == Self.short.1
        if demand.withLock({ $0.received(isShort: isShort) }), !beginThread() {
            demand.withLock { $0.failedToBegin() }
        }
        if operation == Handshake.operation {
            agree(request)
        } else {
            chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
        demand.withLock { $0.performed(isShort: isShort) }
    }

    /// Answers the first request. The kernel has the answer when this returns, and sends nothing else before.
    private func agree(_ request: UnsafeMutableRawBufferPointer) {
        guard let handshake = Handshake(request: UnsafeRawBufferPointer(request)) else {
            return chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
        if chatfs_fuse_names_passthrough() {
            chatfs_fuse_session_process(session, request.baseAddress, request.count)
        } else {
            FirstAnswer(session, connection).give(
                to: request, handshake, passthrough: context.passthrough.isWanted)
        }
        if fuse_session_exited(session) == 0 {
            context.passthrough.begin(on: connection, isOffered: handshake.offersPassthrough)
        }
    }
}
