import Base
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("Turns of waiting members")
struct TurnTests {
    private typealias Queue = TurnQueue<String, Int, String>

    private static func begin(_ queue: inout Queue) throws -> Queue.Turn {
        let turn = queue.begin()
        return try #require(turn)
    }

    private static func all(_ queue: inout Queue) -> [String] {
        var taken: [String] = []
        while let next = queue.next() { taken.append(next) }
        return taken
    }

    @Test("elements of a member keep their order")
    func order() {
        var queue = Queue()
        for number in 0..<200 { queue.append("\(number)", of: 1, in: "a") }
        #expect(queue.count == 200)
        #expect(Self.all(&queue) == (0..<200).map(String.init))
        #expect(queue.isEmpty && queue.next() == nil)
    }

    @Test("newcomers come before busy members")
    func newcomer() {
        var queue = Queue()
        for member in 1...3 {
            for number in 0..<5 { queue.append("\(member).\(number)", of: member, in: "a") }
        }
        let first = (0..<4).compactMap { _ in queue.next() }
        #expect(first == ["1.0", "2.0", "3.0", "1.1"])
        queue.append("4.0", of: 4, in: "a")
        queue.append("4.1", of: 4, in: "a")
        #expect(queue.next() == "4.0")
        // Once: then it goes to the end.
        let rest = (0..<4).compactMap { _ in queue.next() }
        #expect(rest == ["2.1", "3.1", "1.2", "4.1"])
    }

    @Test("submitting one by one gains nothing")
    func littleAtATime() {
        var queue = Queue()
        for number in 0..<10 { queue.append("1.\(number)", of: 1, in: "a") }
        queue.append("2.0", of: 2, in: "a")
        #expect(queue.next() == "1.0" && queue.next() == "2.0")
        queue.append("2.1", of: 2, in: "a")
        #expect(queue.next() == "1.1" && queue.next() == "2.1")
        queue.append("2.2", of: 2, in: "a")
        #expect(queue.next() == "1.2" && queue.next() == "2.2")
    }

    @Test("cheap turns come more often")
    func cheapTurns() throws {
        var queue = Queue()
        for member in 1...100 { for _ in 0..<3 { queue.append("heavy", of: member, in: "a") } }
        for _ in 0..<100 { queue.end(try Self.begin(&queue), cost: 500) }
        for _ in 0..<20 {
            let heavy = try Self.begin(&queue)
            #expect(heavy.element == "heavy")
            queue.end(heavy, cost: 500)
            // It had a turn in this round already, and its absence earned nothing.
            queue.append("light", of: 0, in: "a")
            let light = try Self.begin(&queue)
            #expect(light.element == "light")
            queue.end(light, cost: 5)
        }
    }

    @Test("leaving does not cancel costs")
    func leaving() throws {
        var queue = Queue()
        queue.append("heavy", of: 1, in: "a")
        let heavy = try Self.begin(&queue)
        for _ in 0..<10 { queue.append("other", of: 2, in: "a") }
        queue.end(heavy, cost: 5)
        queue.append("heavy", of: 1, in: "a")
        let order = Self.all(&queue)
        #expect(order.count == 11 && order.prefix(5).allSatisfy { $0 == "other" })
    }

    @Test("overlapping turns are charged to their members")
    func overlapping() throws {
        var queue = Queue()
        for name in ["one", "two", "three"] { queue.append(name, of: name.count * 10 + 1, in: name) }
        let turns = try (0..<3).map { _ in try Self.begin(&queue) }
        #expect(queue.next() == nil)
        for (cost, turn) in zip([UInt64(3), 2, 1], turns) { queue.end(turn, cost: cost) }
        for turn in turns { queue.append(turn.element, of: turn.member, in: turn.group) }
        #expect(Self.all(&queue) == ["three", "two", "one"])
    }

    @Test("large groups get no more turns")
    func groups() {
        var queue = Queue()
        for member in 1...50 { for _ in 0..<4 { queue.append("many", of: member, in: "a") } }
        for _ in 0..<10 { queue.append("few", of: 1, in: "b") }
        let first = (0..<20).compactMap { _ in queue.next() }
        #expect(first.count { $0 == "few" } == 10)
        #expect(Self.all(&queue).count == 190)
    }

    @Test("every element comes once and in order", arguments: UInt64(1)...20)
    func model(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var queue = TurnQueue<Int, Int, (member: Int, number: Int)>()
        var (appended, taken) = ([Int: Int](), [Int: Int]())
        var waiting = 0
        for _ in 0..<3000 {
            if Int.random(in: 0..<100, using: &random) < 52 {
                let member = Int.random(in: 0..<12, using: &random)
                queue.append((member, appended[member, default: 0]), of: member, in: member % 3)
                appended[member, default: 0] += 1
                waiting += 1
            } else if let next = queue.next() {
                #expect(next.number == taken[next.member, default: 0])
                taken[next.member, default: 0] += 1
                waiting -= 1
            } else {
                #expect(waiting == 0)
            }
            #expect(queue.count == waiting)
        }
        while let next = queue.next() { taken[next.member, default: 0] = next.number + 1 }
        #expect(taken == appended)
    }

    @Test("a fair semaphore admits newcomers first")
    func semaphore() async throws {
        let semaphore = FairSemaphore<String>(count: 1)
        let (order, isHeld) = (Lock<[String]>([]), Monitor(true))
        let holder = FairSemaphore<String>.Member(of: "a")
        try Thread.begin("holder") {
            semaphore.withTurn(of: holder) {
                order.withLock { $0.append("holder") }
                isHeld.wait { $0 ? nil : true }
            }
        }
        try await wait(until: "it is held") { order.withLock { $0.count } == 1 }
        for (number, name) in ["first", "second", "third"].enumerated() {
            let member = FairSemaphore<String>.Member(of: name)
            try Thread.begin(name) { semaphore.withTurn(of: member) { order.withLock { $0.append(name) } } }
            try await wait(until: "it waits") { semaphore.waitingCount == number + 1 }
        }
        isHeld.change { $0 = false }
        try await wait(until: "all had their turn") { order.withLock { $0.count } == 4 }
        #expect(order.withLock { $0 } == ["holder", "first", "second", "third"])
        #expect(semaphore.waitingCount == 0)
    }

    @Test("addresses of one customer count as one")
    func peers() {
        let network = [UInt8](0x20...0x27)
        #expect(
            PeerAddress(network + [0, 0, 0, 0, 0, 0, 0, 1])
                == PeerAddress(network + [9, 9, 9, 9, 9, 9, 9, 9]))
        #expect(PeerAddress([10, 0, 0, 1]) != PeerAddress([10, 0, 0, 2]))
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 10, 0, 0, 1]
        #expect(PeerAddress(mapped) == PeerAddress([10, 0, 0, 1]))
        #expect(PeerAddress([10, 0, 0, 1]) != .unknown)
    }
}
