import Namespace

/// The entries of a folder, by name and in pages by number. Adding the highest number takes constant time. A pure
/// value.
struct PastedChildren {
    private var byName: [EntryName: NodeID] = [:]
    /// In ascending order.
    private var numbers: [NodeID] = []

    var isEmpty: Bool { numbers.isEmpty }
    /// In ascending order of number.
    var all: [NodeID] { numbers }

    subscript(name: EntryName) -> NodeID? { byName[name] }

    /// Returns numbers after `last`.
    func page(after last: NodeID?, count: Int) -> ArraySlice<NodeID> {
        let start = last.map { place(of: $0) { $0 <= $1 } } ?? 0
        return numbers[start...].prefix(count)
    }

    /// Adds an entry whose name and number are free.
    mutating func insert(_ id: NodeID, named name: EntryName) {
        byName[name] = id
        numbers.insert(id, at: place(of: id) { $0 < $1 })
    }

    mutating func remove(_ name: EntryName) {
        guard let id = byName.removeValue(forKey: name) else { return }
        numbers.remove(at: place(of: id) { $0 < $1 })
    }

    /// Returns the number of entries that precede `id`.
    private func place(of id: NodeID, _ precedes: (NodeID, NodeID) -> Bool) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(numbers[middle], id) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
