import TestSupport
import Testing

@testable import Outbox

/// The rules of a line, and any number of events against a slow one that obviously keeps them.
@Suite struct SendingLineTests {
    private func all(_ line: inout SendingLine<String>) -> [String] { line.go { _ in true } }

    @Test func nobodyGoesBeforeThoseInFront() {
        var line = SendingLine<String>()
        line.enter("a", at: 1)
        line.enter("b", at: 2)
        line.ready("b", at: 2)
        #expect(!line.canGo)
        #expect(all(&line) == [])
        line.ready("a", at: 1)
        #expect(line.canGo)
        #expect(all(&line) == ["a", "b"])
        #expect(line.isEmpty && !line.canGo)
    }

    @Test func whoLeavesHoldsNobodyUp() {
        var line = SendingLine<String>()
        for (number, name) in ["a", "b", "c"].enumerated() { line.enter(name, at: Int64(number)) }
        line.ready("c", at: 2)
        line.leave("a")
        #expect(!line.canGo)
        line.leave("b")
        #expect(all(&line) == ["c"])
        line.leave("nobody")
        #expect(line.isEmpty)
    }

    @Test func whoEntersAgainGoesToTheNewNumberAndWaits() {
        var line = SendingLine<String>()
        line.ready("a", at: 1)
        line.ready("b", at: 2)
        line.enter("a", at: 3)
        #expect(all(&line) == ["b"])
        line.ready("a", at: 3)
        #expect(all(&line) == ["a"])
    }

    @Test func whoComesBackWithAnOldNumberGoesFirst() {
        var line = SendingLine<String>()
        line.ready("a", at: 1)
        #expect(all(&line) == ["a"])
        line.ready("c", at: 3)
        line.ready("a", at: 1)
        line.ready("b", at: 2)
        #expect(all(&line) == ["a", "b", "c"])
    }

    @Test func onlyAsManyGoAsAreTaken() {
        var line = SendingLine<String>()
        for (number, name) in ["a", "b", "c"].enumerated() { line.ready(name, at: Int64(number)) }
        var count = 0
        let first = line.go { _ in
            count += 1
            return count <= 2
        }
        #expect(first == ["a", "b"])
        #expect(all(&line) == ["c"])
    }

    @Test(arguments: 1...20)
    func anyEventsAreThoseOfAPlainList(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var line = SendingLine<Int>()
        var plain: [(element: Int, number: Int64, isReady: Bool)] = []
        var used: Set<Int64> = []
        for _ in 0..<2000 {
            let element = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let number = plain.first { $0.element == element }?.number
                let other = Int64.random(in: 0..<5000, using: &random)
                let place = number ?? other
                guard number != nil || used.insert(place).inserted else { continue }
                let isReady = Bool.random(using: &random)
                plain.removeAll { $0.element == element }
                plain.append((element, place, isReady))
                if isReady { line.ready(element, at: place) } else { line.enter(element, at: place) }
            case 2:
                plain.removeAll { $0.element == element }
                line.leave(element)
            default:
                plain.sort { $0.number < $1.number }
                let expected = plain.prefix { $0.isReady }.map(\.element)
                #expect(line.canGo == !expected.isEmpty)
                let gone = line.go { _ in true }
                #expect(gone == expected)
                plain.removeFirst(expected.count)
                #expect(line.isEmpty == plain.isEmpty)
            }
        }
    }
}
