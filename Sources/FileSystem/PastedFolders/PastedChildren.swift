import Namespace

/// What lies in one folder: found by name, and listed by number, in pages. A value; adding the newest, as copying does,
/// costs the same however many there are.
struct PastedChildren {
    private var byName: [EntryName: NodeID] = [:]
    /// Ascending.
    private var numbers: [NodeID] = []

    var isEmpty: Bool { numbers.isEmpty }
    /// By number.
    var all: [NodeID] { numbers }

    subscript(name: EntryName) -> NodeID? { byName[name] }

    /// Numbers from the one after `last` on.
    func page(after last: NodeID?, count: Int) -> ArraySlice<NodeID> {
        let start = last.map { place(of: $0) { $0 <= $1 } } ?? 0
        return numbers[start...].prefix(count)
    }

    /// Nothing has the name or the number.
    mutating func insert(_ id: NodeID, named name: EntryName) {
        byName[name] = id
        numbers.insert(id, at: place(of: id) { $0 < $1 })
    }

    mutating func remove(_ name: EntryName) {
        guard let id = byName.removeValue(forKey: name) else { return }
        numbers.remove(at: place(of: id) { $0 < $1 })
    }

    /// How many numbers come before `id`, by `precedes`.
    private func place(of id: NodeID, _ precedes: (NodeID, NodeID) -> Bool) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(numbers[middle], id) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
