import Namespace

/// Orders folders with items in memory by use, counts the kernel's references to their items, and selects folders to
/// evict. A pure value.
struct Residency {
    private struct Folder {
        /// Negative until the first use.
        var lastUse: Int64
        /// Kernel references by item (`nlookup` of FUSE).
        var known: [NodeID: UInt64] = [:]
    }

    private var folders: [NodeID: Folder] = [:]
    private var uses: Int64 = 0
    private var unused: Int64 = 0

    /// Records a use of the folder.
    mutating func use(_ folder: NodeID) {
        uses += 1
        folders[folder, default: Folder(lastUse: uses)].lastUse = uses
    }

    /// Records a folder loaded ahead of requests. Of such folders, those loaded last are evicted first.
    mutating func keep(_ folder: NodeID) {
        guard folders[folder] == nil else { return }
        unused += 1
        folders[folder] = Folder(lastUse: -unused)
    }

    /// Adds a kernel reference to an item.
    mutating func tell(_ id: NodeID, in folder: NodeID) {
        if folders[folder] == nil { use(folder) }
        folders[folder]?.known[id, default: 0] += 1
    }

    /// Drops `count` kernel references. Returns true if the folder has none left. References taken before an eviction
    /// are not counted, so `count` may exceed the stored number.
    mutating func forget(_ id: NodeID, _ count: UInt64, in folder: NodeID) -> Bool {
        guard let told = folders[folder]?.known[id] else { return false }
        guard told <= count else {
            folders[folder]?.known[id] = told - count
            return false
        }
        folders[folder]?.known[id] = nil
        return folders[folder]?.known.isEmpty == true
    }

    /// Removes a vanished item, whatever its references.
    mutating func remove(_ id: NodeID, in folder: NodeID) { folders[folder]?.known[id] = nil }

    mutating func letGo(_ folder: NodeID) { folders[folder] = nil }

    func isKnown(_ folder: NodeID) -> Bool { folders[folder].map { !$0.known.isEmpty } ?? false }

    /// The folders in order of eviction: first those without kernel references, each group by least recent use. Without
    /// the two used last, because two listings at the same time would load each other's folder again for every page.
    var candidates: [NodeID] {
        let recent = folders.values.map(\.lastUse).filter { $0 > 0 }.sorted().suffix(2)
        return folders.filter { !recent.contains($0.value.lastUse) }
            .sorted {
                ($0.value.known.isEmpty ? 0 : 1, $0.value.lastUse) < (
                    $1.value.known.isEmpty ? 0 : 1, $1.value.lastUse
                )
            }
            .map(\.key)
    }
}
