import Base
import FileSystem
import Glibc
import Posix

/// State shared by all requests of a connection, passed to libfuse. Thread-safe.
final class RequestContext: Sendable {
    let fileSystem: any FileOperations
    let owner = Owner(user: geteuid(), group: getegid())
    let buffers = ReplyBuffers()
    let counts = RequestCounts()
    let failures = FailureLog()
    let idleMemory = IdleMemory()
    let requestPoller = RequestPoller()
    let passthrough: Passthrough
    let repeatedChange = RepeatedChange()

    /// - Parameter folder: Directory of the plain cache, whose files the kernel may read; nil if there is none.
    init(_ fileSystem: any FileOperations, plainFilesIn folder: OpenFile? = nil) {
        self.fileSystem = fileSystem
        passthrough = Passthrough(filesIn: folder)
    }

    /// The kernel's features and counters of this mount.
    var kernelSide: KernelSide {
        KernelSide(passthrough: passthrough.report, operations: counts.named, failures: failures.counts)
    }
}
