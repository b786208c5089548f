/// For a child that works on bytes of strangers: most it may use of memory (bytes of address space) and
/// of the processor (seconds), and no network, no change to any file, no process beside it, no hand on
/// another one (`CLinux/Confine.h`). It leads a session of its own, without a terminal. Of files it reads
/// those of `readable` where the kernel can tell them apart (`CLinux/Landlock.h`), else what this user
/// can. Where the kernel cannot hold it to the rest it does not start.
public struct Confinement: Sendable {
    public var maxMemory: UInt
    public var maxSeconds: UInt

    public init(maxMemory: UInt, maxSeconds: UInt) {
        self.maxMemory = maxMemory
        self.maxSeconds = maxSeconds
    }
}
