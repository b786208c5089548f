import Namespace

/// Which folders have items in memory, in the order of their use, and which of the items the kernel knows. A value
/// without input and output: decides what is let go, and says so.
struct Residency {
    private struct Folder {
        /// Below zero while nobody has looked.
        var lastUse: Int64
        /// How often the kernel was told of each item (`nlookup` of FUSE).
        var known: [NodeID: UInt64] = [:]
    }

    private var folders: [NodeID: Folder] = [:]
    private var uses: Int64 = 0
    private var unused: Int64 = 0

    /// Somebody looks at what a folder holds.
    mutating func use(_ folder: NodeID) {
        uses += 1
        folders[folder, default: Folder(lastUse: uses)].lastUse = uses
    }

    /// The items of a folder came into memory though nobody looked: of such folders those go first that came last.
    mutating func keep(_ folder: NodeID) {
        guard folders[folder] == nil else { return }
        unused += 1
        folders[folder] = Folder(lastUse: -unused)
    }

    /// The kernel is told of an item.
    mutating func tell(_ id: NodeID, in folder: NodeID) {
        if folders[folder] == nil { use(folder) }
        folders[folder]?.known[id, default: 0] += 1
    }

    /// The kernel forgets so many times that it was told of an item. Whether that was the last that it knew in the
    /// folder. Of one that was let go meanwhile it was told too, so it may forget more than is counted.
    mutating func forget(_ id: NodeID, _ count: UInt64, in folder: NodeID) -> Bool {
        guard let told = folders[folder]?.known[id] else { return false }
        guard told <= count else {
            folders[folder]?.known[id] = told - count
            return false
        }
        folders[folder]?.known[id] = nil
        return folders[folder]?.known.isEmpty == true
    }

    /// The item is not there any more, whatever the kernel knows of it.
    mutating func remove(_ id: NodeID, in folder: NodeID) { folders[folder]?.known[id] = nil }

    mutating func letGo(_ folder: NodeID) { folders[folder] = nil }

    func isKnown(_ folder: NodeID) -> Bool { folders[folder].map { !$0.known.isEmpty } ?? false }

    /// The folders but the one used last, in the order in which they go when there is too much in memory: first those
    /// of which the kernel knows nothing, among these the one that was used longest ago.
    var candidates: [NodeID] {
        folders.filter { $0.value.lastUse != uses }
            .sorted {
                ($0.value.known.isEmpty ? 0 : 1, $0.value.lastUse) < (
                    $1.value.known.isEmpty ? 0 : 1, $1.value.lastUse
                )
            }
            .map(\.key)
    }
}
