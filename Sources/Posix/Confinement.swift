/// The limits of a child that processes hostile bytes: memory (bytes of address space) and processor time (seconds); no
/// network, no changes to files, no further processes, no access to others (`CLinux/Confine.h`). It leads a session
/// without a terminal. It reads only `readable` files if the kernel supports that (`CLinux/Landlock.h`), otherwise the
/// user's files. If the kernel lacks the other limits, the child does not start.
public struct Confinement: Sendable {
    public var maxMemory: UInt
    public var maxSeconds: UInt

    public init(maxMemory: UInt, maxSeconds: UInt) {
        self.maxMemory = maxMemory
        self.maxSeconds = maxSeconds
    }
}
