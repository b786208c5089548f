import CFuse3
import FileSystem
import Glibc

/// A request of the kernel that is answered exactly once. It cannot be copied, every answer consumes it, and the
/// pointer of libfuse is nobody else's: a second answer does not compile. One that is dropped traps in debug builds;
/// in others it answers EIO, because the program that asked would wait for ever (not even SIGKILL ends a wait for an
/// answer to a request that was read).
struct Request: ~Copyable {
    private let pointer: fuse_req_t
    private let subject: RequestSubject

    /// - Parameter pointer: from libfuse, which never gives nil.
    init(_ pointer: fuse_req_t?, _ operation: StaticString, _ node: fuse_ino_t) {
        guard let pointer else { preconditionFailure("libfuse gave no request") }
        self.pointer = pointer
        subject = RequestSubject(operation, node)
    }

    deinit {
        assertionFailure("the request \(subject.operation) was dropped without an answer")
        context.failures.note(subject, FileSystemError(EIO, "Nobody answered.", isFailure: true))
        fuse_reply_err(pointer, EIO)
    }

    /// What libfuse was given with the operations.
    var context: RequestContext {
        Unmanaged<RequestContext>.fromOpaque(fuse_req_userdata(pointer)).takeUnretainedValue()
    }

    /// The thread that asks (a number as gettid(2) gives it); 0 when the kernel asks by itself, or for a process that
    /// cannot be seen from here.
    var thread: pid_t { fuse_req_ctx(pointer)?.pointee.pid ?? 0 }

    // MARK: - Errors

    /// Every error of the file system goes through here.
    consuming func fail(_ error: FileSystemError) {
        context.failures.note(subject, error)
        fail(error.code)
    }

    /// What is wrong with the request itself.
    consuming func fail(_ code: Int32) {
        fuse_reply_err(pointer, code)
        discard self
    }

    // MARK: - Answers

    consuming func succeed() { fail(0) }

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
    consuming func forgotten() {
        fuse_reply_none(pointer)
        discard self
    }

    consuming func written(_ count: Int) {
        fuse_reply_write(pointer, count)
        discard self
    }

    /// False when who asked is gone.
    @discardableResult
    consuming func bytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let result = fuse_reply_buf(pointer, start, bytes.count)
        discard self
        return result == 0
    }

    consuming func bytes(_ bytes: [UInt8]) {
        let pointer = pointer
        bytes.withUnsafeBytes {
            _ = fuse_reply_buf(pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        discard self
    }

    /// How long the value of an extended attribute is, or all names are.
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

    /// As `entry` and `opened` in one.
    consuming func created(_ entry: fuse_entry_param, _ info: fuse_file_info) -> Bool {
        let result = withUnsafePointer(to: entry) { entry in
            withUnsafePointer(to: info) { fuse_reply_create(pointer, entry, $0) }
        }
        discard self
        return result == 0
    }

    // MARK: - Steps on the way to an answer

    /// Writes an entry of a listing into `space`. Answers the bytes that it takes, also when they do not fit and
    /// nothing was written.
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

    /// Has `function` called when the program that asked gives up; nil: no more, and it does not run any longer when
    /// this returns.
    borrowing func whenInterrupted(_ function: fuse_interrupt_func_t?, _ context: UnsafeMutableRawPointer?) {
        fuse_req_interrupt_func(pointer, function, context)
    }
}
