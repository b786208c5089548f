/// Where a mutex stands in the one order in which a thread may lock several, from the outermost to the innermost: while
/// it holds one, it may lock only those of a later rank. Debug builds end the process otherwise (`LockOrder`).
///
/// A mutex is given its rank where it is made. Most need none: under the usual ones nothing of their kind
/// is locked, but by the end of an object. Which mutex has which rank, and why, is a table in `docs/architecture.md`, which a
/// test compares with the source.
public enum MutexRank: Int, CaseIterable, Comparable, Sendable {
    // For input and output (`BlockingMutex`).

    /// The opening of the database of links.
    case linkStore
    /// Changes of the tree of names.
    case tree
    /// Which drafts have which names.
    case draftNames
    /// One draft.
    case draft
    /// The copy of a draft that is made for the core.
    case stagedFile
    /// One sealed file.
    case sealedFile
    /// A connection to a database.
    case database
    /// The usual one for input and output.
    case operation

    // For memory (`Lock`, `Monitor`).

    /// A file that is read.
    case cachedFile
    /// The timer of such files.
    case ticker
    /// Which chunks are fetched.
    case chunkTransfers
    /// Which objects there are, those with ranks of their own among them.
    case registry
    /// What looks at, or tells, one other object meanwhile.
    case collection
    /// The usual one for memory.
    case leaf
    /// What the end of an object locks: that may come under any other, wherever the last reference goes.
    case innermost

    /// Held over input and output; under those for memory none of these may be locked.
    var isForInputOutput: Bool { self <= .operation }

    public static func < (first: MutexRank, second: MutexRank) -> Bool { first.rawValue < second.rawValue }
}
