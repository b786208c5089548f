import Base
import FileSystem
import Glibc
import Posix

/// What all requests of one connection share, and what libfuse is given for them. Any thread.
final class RequestContext: Sendable {
    let fileSystem: any FileOperations
    let owner = Owner(user: geteuid(), group: getegid())
    let buffers = ReplyBuffers()
    let counts = RequestCounts()
    let failures = FailureLog()
    let idleMemory = IdleMemory()
    let nextRequest = NextRequest()
    let passthrough: Passthrough
    let ownCalls = OwnCalls()

    /// - Parameter folder: where finished files lie as they are, which the kernel may then read itself; nil: there
    ///   are none.
    init(_ fileSystem: any FileOperations, plainFilesIn folder: OpenFile? = nil) {
        self.fileSystem = fileSystem
        passthrough = Passthrough(filesIn: folder)
    }

    /// What the kernel does for this mount.
    var kernelSide: KernelSide {
        KernelSide(passthrough: passthrough.report, operations: counts.named, failures: failures.counts)
    }
}
