import CFuse3
import FileSystem
import Glibc

/// A request of the kernel that is answered exactly once: every answer consumes it, and one that is
/// dropped answers EIO, because the program that asked would wait for ever (not even SIGKILL ends a
/// wait for an answer to a request that was read).
struct Request: ~Copyable {
    fileprivate let pointer: fuse_req_t
    private let subject: RequestSubject

    init(_ pointer: fuse_req_t, _ subject: RequestSubject) {
        self.pointer = pointer
        self.subject = subject
    }

    deinit {
        session.failures.note(subject, FileSystemError(EIO, "Nobody answered.", isFailure: true))
        fuse_reply_err(pointer, EIO)
    }

    /// The session that libfuse was given with the operations.
    var session: FuseSession {
        Unmanaged<FuseSession>.fromOpaque(fuse_req_userdata(pointer)).takeUnretainedValue()
    }

    /// The thread that asks (a number as gettid(2) gives it); 0 when the kernel asks by itself, or for a process that
    /// cannot be seen from here.
    var thread: pid_t { fuse_req_ctx(pointer)?.pointee.pid ?? 0 }

    /// Every error of the file system goes through here.
    consuming func fail(_ error: FileSystemError) {
        session.failures.note(subject, error)
        fail(error.code)
    }

    /// What is wrong with the request itself.
    consuming func fail(_ code: Int32) {
        fuse_reply_err(pointer, code)
        discard self
    }

    consuming func succeed() { fail(0) }

    /// For answers that are made in a lent buffer; `wasAnswered` follows.
    borrowing func withPointer<Result>(_ body: (fuse_req_t) -> Result) -> Result { body(pointer) }

    consuming func attributes(_ status: stat, timeout: Double) {
        _ = withUnsafePointer(to: status) { fuse_reply_attr(pointer, $0, timeout) }
        discard self
    }

    /// False when who asked is gone: the kernel does not know the entry.
    consuming func entry(_ entry: fuse_entry_param) -> Bool {
        let result = withUnsafePointer(to: entry) { fuse_reply_entry(pointer, $0) }
        discard self
        return result == 0
    }

    /// For what the kernel wants no answer to.
    consuming func forgotten(_ body: (FuseSession) -> Void) {
        body(session)
        fuse_reply_none(pointer)
        discard self
    }

    consuming func written(_ count: Int) {
        fuse_reply_write(pointer, count)
        discard self
    }

    consuming func bytes(_ bytes: UnsafeRawBufferPointer) {
        fuse_reply_buf(pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        discard self
    }

    consuming func bytes(_ bytes: [UInt8]) {
        let pointer = pointer
        bytes.withUnsafeBytes {
            _ = fuse_reply_buf(pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        discard self
    }

    /// The answer went out by `withPointer`.
    consuming func wasAnswered() { discard self }

    consuming func attributeSize(_ count: Int) {
        fuse_reply_xattr(pointer, count)
        discard self
    }

    consuming func statistics(_ statistics: statvfs) {
        _ = withUnsafePointer(to: statistics) { fuse_reply_statfs(pointer, $0) }
        discard self
    }

    /// False when the opener is gone and the kernel will never release what was opened.
    consuming func opened(_ info: fuse_file_info) -> Bool {
        let result = withUnsafePointer(to: info) { fuse_reply_open(pointer, $0) }
        discard self
        return result == 0
    }

    /// The same for what the kernel then reads itself from a backing file. Cached pages are not kept: they are
    /// not used.
    consuming func opened(_ info: fuse_file_info, backing: Int32) -> Bool {
        let result = withUnsafePointer(to: info) { chatfs_fuse_reply_open_passthrough(pointer, $0, backing) }
        discard self
        return result == 0
    }

    consuming func created(_ entry: fuse_entry_param, _ info: fuse_file_info) -> Bool {
        let result = withUnsafePointer(to: entry) { entry in
            withUnsafePointer(to: info) { fuse_reply_create(pointer, entry, $0) }
        }
        discard self
        return result == 0
    }

    /// Keeps the request to answer it later, from a task.
    consuming func deferred() -> DeferredRequest {
        let deferred = DeferredRequest(pointer, subject)
        discard self
        return deferred
    }
}
