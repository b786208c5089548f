import Base
import CFuse3
import CLinux
import Glibc
import Posix

/// Reads requests from the connection and passes them to libfuse on threads of its own.
///
/// libfuse's own loop does not expose the requests, and cancels its threads at arbitrary points. The calls to replace
/// its reads (`fuse_session_custom_io`) are missing in some builds of 3.18. libfuse writes replies and notices.
final class RequestLoop: @unchecked Sendable {
    // Safe: the libfuse functions called on `session` are thread-safe.
    private let session: OpaquePointer
    private let connection: Int32
    private let context: RequestContext
    private let demand = Lock(ThreadDemand(limit: maxThreads))
    private let running = Monitor(0)

    /// Enough, because the threads wait for nothing but this machine's disk.
    private static let maxThreads = 8
    /// The kernel rejects reads with buffers smaller than the largest write and its header (80 bytes).
    private static let bufferSize = ConnectionOptions.maxWrite + 4096
    /// Stack size in bytes, the same as libfuse's threads.
    private static let stackSize = 8 << 20
    /// FUSE_FORGET and FUSE_BATCH_FORGET of `linux/fuse.h`.
    private static let short: (UInt32, UInt32) = (2, 42)

    private static let log = Log("fuse")

    /// - Parameter session: A mounted or connected session.
    init(_ session: OpaquePointer, _ context: RequestContext) {
        self.session = session
        self.context = context
        connection = fuse_session_fd(session)
    }

    /// Serves the connection until it ends or `fuse_session_exit` marks the session. All threads have stopped on
    /// return. Blocks.
    func run() {
        guard beginThread() else { return }
        running.wait { $0 == 0 ? true : nil }
    }

    /// Makes the kernel send a request, so that a waiting thread sees the session's exit mark.
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
            Self.log.warning("request thread not started: error=\(error.sentence)")
            running.change { $0 -= 1 }
            return false
        }
    }

    // MARK: - On a thread

    private func serve() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 16)
        defer { buffer.deallocate() }
        let decoded = DecodedRequest()
        while fuse_session_exited(session) == 0 {
            context.requestPoller.pollBriefly(on: connection)
            let count = read(connection, buffer.baseAddress, buffer.count)
            if count >= MemoryLayout<chatfs_fuse_request>.size {
                perform(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), decoded)
            } else if !goesOn(after: count, errno) {
                return
            }
        }
        wakeNext()
    }

    /// Returns true if the connection is still usable after a read without a request.
    private func goesOn(after count: Int, _ code: Int32) -> Bool {
        // ENOENT: the caller was interrupted.
        if count < 0, code == ENOENT || code == EINTR || code == EAGAIN { return true }
        fuse_session_exit(session)
        // ENODEV: the mount is gone. An empty read from a socket: the test has ended. Both end the reads of all
        // threads.
        if count < 0, code != ENODEV {
            Self.log.error(SystemError(code: code, operation: "read a request").sentence)
            wakeNext()
        }
        return false
    }

    /// Only a request ends another thread's read(2); that thread wakes the next one in turn.
    private func wakeNext() {
        while Self.provokeRequest(of: session) == -ENOMEM { usleep(10_000) }
    }

    private func perform(_ request: UnsafeMutableRawBufferPointer, _ decoded: borrowing DecodedRequest) {
        let header = request.load(as: chatfs_fuse_request.self)
        let operation = header.operation
        let span = RequestSpan(number: header.unique, operation: operation)
        context.metrics.begin(operation)
        context.idleMemory.requestCame(context.counts)
        let isShort = operation == Self.short.0 || operation == Self.short.1
        if demand.withLock({ $0.received(isShort: isShort) }), !beginThread() {
            demand.withLock { $0.failedToBegin() }
        }
        let rest = decoded.during(span) {
            if Log.isOn(.debug) {
                Log.$request.withValue(span.number) { decode(request, operation) }
            } else {
                decode(request, operation)
            }
        }
        if let rest { context.metrics.end(rest) }
        demand.withLock { $0.performed(isShort: isShort) }
    }

    private func decode(_ request: UnsafeMutableRawBufferPointer, _ operation: UInt32) {
        if operation == Handshake.operation {
            agree(request)
        } else {
            chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
    }

    /// Answers FUSE_INIT. On return the kernel has the reply; it sends no other request before.
    private func agree(_ request: UnsafeMutableRawBufferPointer) {
        guard let handshake = Handshake(request: UnsafeRawBufferPointer(request)) else {
            return chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
        if chatfs_fuse_names_passthrough() {
            chatfs_fuse_session_process(session, request.baseAddress, request.count)
        } else {
            InitReply(session, connection).give(
                to: request, handshake, passthrough: context.passthrough.isWanted)
        }
        if fuse_session_exited(session) == 0 {
            context.passthrough.begin(on: connection, isOffered: handshake.offersPassthrough)
        }
    }
}
