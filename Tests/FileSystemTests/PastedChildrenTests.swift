import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite struct PastedChildrenTests {
    @Test func randomChangesMatchASortedDictionary() {
        var random = SeededGenerator(state: 31)
        for _ in 0..<200 {
            var children = PastedChildren()
            var model: [String: UInt64] = [:]
            for _ in 0..<60 {
                let name = "\(Int.random(in: 0..<20, using: &random))"
                let id = UInt64.random(in: 1...1000, using: &random)
                if model[name] == nil, !model.values.contains(id) {
                    children.insert(NodeID(id), named: EntryName(name))
                    model[name] = id
                } else {
                    children.remove(EntryName(name))
                    model[name] = nil
                }
                let sorted = model.values.sorted().map { NodeID($0) }
                #expect(children.all == sorted && children.isEmpty == model.isEmpty)
                #expect(children[EntryName(name)]?.rawValue == model[name])
                let last = NodeID(UInt64.random(in: 0...1001, using: &random))
                let count = Int.random(in: 0...5, using: &random)
                #expect(
                    children.page(after: last, count: count).elementsEqual(
                        sorted.filter { $0 > last }.prefix(count)))
                #expect(children.page(after: nil, count: count).elementsEqual(sorted.prefix(count)))
            }
        }
    }
}
