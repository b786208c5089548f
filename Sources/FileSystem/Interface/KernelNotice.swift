import Base
import Namespace

/// A part of the kernel's caches to invalidate.
public enum KernelNotice: Sendable {
    /// Attributes of a node.
    case attributes(NodeID)
    /// Attributes and pages of a node.
    case content(NodeID)
    /// A name that appeared or vanished, and its folder's listing.
    case entry(EntryName, in: NodeID)
}

/// The connection to the kernel while mounted: delivers notices and reads the kernel's counters. Thread-safe.
final class KernelConnection: Sendable {
    // A struct, as `Lock` requires.
    private struct Listener {
        var send: (@Sendable (KernelNotice) -> Void)?
        var ask: (@Sendable () -> KernelSide)?
    }

    private let listener = Lock(Listener())

    func tell(through send: (@Sendable (KernelNotice) -> Void)?) { listener.withLock { $0.send = send } }
    func ask(through ask: @escaping @Sendable () -> KernelSide) { listener.withLock { $0.ask = ask } }

    func notify(_ notice: KernelNotice) { listener.withLock { $0.send }?(notice) }

    /// nil before the mount.
    var side: KernelSide? { listener.withLock { $0.ask }?() }
}
