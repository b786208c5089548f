import CFuse3
import FileSystem
import Glibc
import Posix

/// A kernel request that is answered exactly once. It is not copyable, every reply consumes it, and it owns libfuse's
/// pointer, so a second reply does not compile. A dropped request traps in debug builds. In release builds it is
/// answered with EIO, because the caller would wait for ever: not even SIGKILL ends the wait for a request that was
/// read.
struct Request: ~Copyable {
    private let pointer: fuse_req_t
    private let subject: RequestSubject
    private let span: RequestSpan

    private static let log = Log("fuse")

    /// - Parameter pointer: From libfuse; never nil.
    init(_ pointer: fuse_req_t?, _ operation: StaticString, _ node: fuse_ino_t) {
        guard let pointer else { preconditionFailure("libfuse gave no request") }
        self.pointer = pointer
        subject = RequestSubject(operation, node)
        span = DecodedRequest.take()
        Self.log.debug("request read: operation=\(operation) node=\(node)")
    }

    deinit {
        assertionFailure("the request \(subject.operation) was dropped without an answer")
        context.failures.note(subject, FileSystemError(EIO, "Nobody answered.", isFailure: true))
        send(EIO) { fuse_reply_err($0, EIO) }
    }

    /// Sends the reply with `reply`, which frees the request, and records its latency.
    /// - Parameter code: The errno of the reply; 0 for success.
    @discardableResult
    private borrowing func send(_ code: Int32 = 0, _ reply: (fuse_req_t) -> Int32) -> Int32 {
        let metrics = context.metrics
        let result = reply(pointer)
        metrics.end(span)
        let (subject, span) = (subject, span)
        Self.log.debug(
            "request answered: operation=\(subject.operation) node=\(subject.node) errno=\(code) "
                + "microseconds=\(span.age / 1000)")
        return result
    }

    /// The context passed to libfuse with the operations.
    var context: RequestContext {
        Unmanaged<RequestContext>.fromOpaque(fuse_req_userdata(pointer)).takeUnretainedValue()
    }

    /// Thread id of the caller, as gettid(2) returns it; 0 for the kernel's own requests and for processes of other PID
    /// namespaces.
    var thread: pid_t { fuse_req_ctx(pointer)?.pointee.pid ?? 0 }

    // MARK: - Errors

    /// Logs and replies with a file system error.
    consuming func fail(_ error: FileSystemError) {
        context.failures.note(subject, error)
        fail(error.code)
    }

    /// Replies with an errno for an invalid request.
    consuming func fail(_ code: Int32) {
        send(code) { fuse_reply_err($0, code) }
        discard self
    }

    // MARK: - Replies

    consuming func succeed() { fail(0) }

    consuming func attributes(_ status: stat, timeout: Double) {
        send { request in withUnsafePointer(to: status) { fuse_reply_attr(request, $0, timeout) } }
        discard self
    }

    /// Returns false if the request was interrupted and the kernel holds no reference to the entry.
    consuming func entry(_ entry: fuse_entry_param) -> Bool {
        let result = send { request in withUnsafePointer(to: entry) { fuse_reply_entry(request, $0) } }
        discard self
        return result == 0
    }

    /// Ends a request that has no reply.
    consuming func forgotten() {
        send { request in
            fuse_reply_none(request)
            return 0
        }
        discard self
    }

    consuming func written(_ count: Int) {
        send { fuse_reply_write($0, count) }
        discard self
    }

    /// Returns false if the request was interrupted.
    @discardableResult
    consuming func bytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let result = send { fuse_reply_buf($0, start, bytes.count) }
        discard self
        return result == 0
    }

    consuming func bytes(_ bytes: [UInt8]) {
        send { request in
            bytes.withUnsafeBytes {
                fuse_reply_buf(request, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
            }
        }
        discard self
    }

    /// Replies with the size in bytes of an attribute's value or of the list of names.
    consuming func attributeSize(_ count: Int) {
        send { fuse_reply_xattr($0, count) }
        discard self
    }

    consuming func statistics(_ statistics: statvfs) {
        send { request in withUnsafePointer(to: statistics) { fuse_reply_statfs(request, $0) } }
        discard self
    }

    /// Returns false if the request was interrupted; the kernel then sends no release.
    consuming func opened(_ info: fuse_file_info) -> Bool {
        let result = send { request in withUnsafePointer(to: info) { fuse_reply_open(request, $0) } }
        discard self
        return result == 0
    }

    /// Like `opened`, for reads from a backing file. The page cache is unused and not kept.
    consuming func opened(_ info: fuse_file_info, backing: Int32) -> Bool {
        let result = send { request in
            withUnsafePointer(to: info) { chatfs_fuse_reply_open_passthrough(request, $0, backing) }
        }
        discard self
        return result == 0
    }

    /// Combines `entry` and `opened`.
    consuming func created(_ entry: fuse_entry_param, _ info: fuse_file_info) -> Bool {
        let result = send { request in
            withUnsafePointer(to: entry) { entry in
                withUnsafePointer(to: info) { fuse_reply_create(request, entry, $0) }
            }
        }
        discard self
        return result == 0
    }

    // MARK: - Steps before the reply

    /// Writes a directory entry into `space`. Returns its size in bytes; if the entry does not fit, nothing is written.
    borrowing func put(
        _ name: [UInt8], _ entry: fuse_entry_param, position: UInt64, withAttributes: Bool,
        into space: UnsafeMutableRawBufferPointer
    ) -> Int {
        var entry = entry
        let start = space.baseAddress?.assumingMemoryBound(to: CChar.self)
        return (name + [0]).withUnsafeBytes { name in
            let text = name.baseAddress?.assumingMemoryBound(to: CChar.self)
            return withAttributes
                ? fuse_add_direntry_plus(pointer, start, space.count, text, &entry, off_t(position))
                : fuse_add_direntry(pointer, start, space.count, text, &entry.attr, off_t(position))
        }
    }

    /// Sets the function called on FUSE_INTERRUPT; nil removes it and waits for a running call.
    borrowing func whenInterrupted(_ function: fuse_interrupt_func_t?, _ context: UnsafeMutableRawPointer?) {
        fuse_req_interrupt_func(pointer, function, context)
    }
}
