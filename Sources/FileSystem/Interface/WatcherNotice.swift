import Namespace

/// A change in a folder not made through the kernel, for programs that watch the folder (inotify(7)).
public enum WatcherNotice: Sendable {
    case appeared(Node)
    case vanished(NodeID, EntryName, in: NodeID)
    /// The renamed node, in its previous folder.
    case renamed(Node, from: EntryName)
    /// A new state, or new attributes.
    case changed(Node)
    /// Too many changes to report one by one.
    case lookAgain(NodeID)

    /// The watched folder.
    public var folder: NodeID {
        switch self {
        case .appeared(let node), .renamed(let node, _), .changed(let node): node.folder
        case .vanished(_, _, let folder), .lookAgain(let folder): folder
        }
    }
}
