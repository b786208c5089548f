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
