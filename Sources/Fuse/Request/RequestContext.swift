import Base
import FileSystem
import Glibc
import Posix

/// State shared by all requests of a connection, passed to libfuse. Thread-safe.
final class RequestContext: Sendable {
    let fileSystem: any FileOperations
    let owner = Owner(user: geteuid(), group: getegid())
    let buffers = ReplyBuffers()
    let metrics: RequestMetrics
    let idleMemory = IdleMemory()
    let requestPoller = RequestPoller()
    let passthrough: Passthrough
    let repeatedChange = RepeatedChange()

    /// - Parameter folder: Directory of the plain cache, whose files the kernel may read; nil if there is none.
    init(
        _ fileSystem: any FileOperations, metrics: RequestMetrics = RequestMetrics(),
        plainFilesIn folder: OpenFile? = nil
    ) {
        self.fileSystem = fileSystem
        self.metrics = metrics
        passthrough = Passthrough(filesIn: folder)
    }

    var counts: RequestCounts { metrics.counts }
    var failures: FailureLog { metrics.failures }

    /// The kernel's features and counters of this mount.
    var kernelSide: KernelSide {
        KernelSide(passthrough: passthrough.report, operations: counts.named, failures: failures.counts)
    }
}
