import Namespace

/// What changed in a folder without the kernel's doing, for those who watch it (inotify(7)).
public enum WatcherNotice: Sendable {
    case appeared(Node)
    case vanished(NodeID, EntryName, in: NodeID)
    /// The node as it is now, in the folder that it was in.
    case renamed(Node, from: EntryName)
    /// Another state, or other attributes.
    case changed(Node)
    /// More changed than can be told one by one.
    case lookAgain(NodeID)

    /// The folder that is watched.
    public var folder: NodeID {
        switch self {
        case .appeared(let node), .renamed(let node, _), .changed(let node): node.folder
        case .vanished(_, _, let folder), .lookAgain(let folder): folder
        }
    }
}
