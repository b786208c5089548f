/// The position of a mutex in the order in which a thread may lock several, from outermost to innermost. A thread that
/// holds one may lock only those of a later rank. Debug builds end the process otherwise (`LockOrder`).
///
/// A mutex gets its rank at its creation. Most need none: nothing of their kind is locked under the default ones,
/// except at the end of an object. `docs/dev/generated/lock-ranks.md` lists the mutexes of each rank; a test compares it
/// with the source.
public enum MutexRank: Int, CaseIterable, Comparable, Sendable {
    // For I/O (`BlockingMutex`).

    /// Opening the database of links.
    case linkStore
    /// Changes of the tree of names.
    case tree
    /// The names of drafts.
    case draftNames
    /// One draft.
    case draft
    /// The copy of a draft for the core.
    case stagedFile
    /// One sealed file.
    case sealedFile
    /// A connection to a database.
    case database
    /// The default for I/O.
    case operation

    // For memory (`Lock`, `Monitor`).

    /// A download, such as of a file being read.
    case chunkRequester
    /// The timer of such files.
    case ticker
    /// The chunks being fetched.
    case chunkTransfers
    /// Collections of objects, including those with ranks of their own.
    case registry
    /// Locked while one other object is read or notified.
    case collection
    /// The default for memory.
    case leaf
    /// Locked at the end of an object, which may happen under any other mutex.
    case innermost

    /// Whether it may be held during I/O. None of these may be locked under one for memory.
    var isForInputOutput: Bool { self <= .operation }

    public static func < (first: MutexRank, second: MutexRank) -> Bool { first.rawValue < second.rawValue }
}
