import Base
import Namespace

/// What the kernel keeps and must drop.
public enum KernelNotice: Sendable {
    /// Attributes of a node.
    case attributes(NodeID)
    /// Attributes and pages of a node.
    case content(NodeID)
    /// A name that is there now or is gone, and the listing of its folder.
    case entry(EntryName, in: NodeID)
}

/// The way to the kernel, while there is one: notices go there, and it is asked what the kernel does. Any thread.
final class KernelConnection: Sendable {
    // In a struct: see `Lock`.
    private struct Listener {
        var send: (@Sendable (KernelNotice) -> Void)?
        var ask: (@Sendable () -> KernelSide)?
    }

    private let listener = Lock(Listener())

    func tell(through send: (@Sendable (KernelNotice) -> Void)?) { listener.withLock { $0.send = send } }
    func ask(through ask: @escaping @Sendable () -> KernelSide) { listener.withLock { $0.ask = ask } }

    func notify(_ notice: KernelNotice) { listener.withLock { $0.send }?(notice) }

    /// Nil before anything is mounted.
    var side: KernelSide? { listener.withLock { $0.ask }?() }
}
