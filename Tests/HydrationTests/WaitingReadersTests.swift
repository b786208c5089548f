import ChatCore
import Testing

@testable import Hydration

/// Readers' deadlines and retry times.
@Suite struct WaitingReadersTests {
    private static let timeout = Duration.seconds(10)

    private static func readers(_ goals: WaitingReaders.Goal...) -> WaitingReaders {
        var readers = WaitingReaders()
        for (index, goal) in goals.enumerated() {
            readers.add(UInt64(index), goal, timeout: timeout, now: .zero)
        }
        return readers
    }

    @Test func readerWithoutProgressWaitsForTimeout() {
        var readers = Self.readers(.bytes(0..<10), .whole)
        #expect(readers.takeExpired(now: .seconds(9)).isEmpty)
        #expect(readers.takeExpired(now: .seconds(10)).map(\.id) == [0, 1])
        #expect(readers.isEmpty)
    }

    @Test func progressExtendsRangeDeadlinesUpToTwentyTimeouts() {
        var readers = Self.readers(.bytes(0..<10), .bytes(50..<60), .whole)
        readers.extendDeadlines(now: .seconds(5)) { $0 != .bytes(50..<60) }
        #expect(readers.readers.map(\.deadline) == [.seconds(15), .seconds(10), .seconds(15)])
        for second in stride(from: 10, through: 400, by: 5) {
            readers.extendDeadlines(now: .seconds(second)) { $0 != .bytes(50..<60) }
        }
        #expect(readers.readers.map(\.deadline) == [.seconds(200), .seconds(10), .seconds(410)])
    }

    @Test func unrepeatableProgressExtendsTheEnd() {
        var readers = Self.readers(.bytes(0..<10))
        readers.moveEnds(now: .seconds(190))
        readers.extendDeadlines(now: .seconds(300))
        #expect(readers.readers.map(\.deadline) == [.seconds(310)])
        readers.extendDeadlines(now: .seconds(385))
        #expect(readers.readers.map(\.deadline) == [.seconds(390)])
    }

    @Test func rangesAreAnsweredInReaderOrder() {
        var readers = Self.readers(.bytes(50..<60), .whole, .bytes(0..<10))
        #expect(readers.waitForWhole)
        #expect(readers.ranges == [50..<60, 0..<10])
        readers.remove(1)
        readers.remove(0)
        readers.remove(7)
        #expect(!readers.waitForWhole)
        #expect(readers.ranges == [0..<10])
        #expect(readers.take { $0.goal == .whole }.isEmpty)
        #expect(readers.takeAll().map(\.id) == [2])
    }

    @Test func failureAnswersForAWhileWithDoublingRetries() {
        let settings = HydrationSettings()
        let problem = FileProblem(.unreachable, "It is away.")
        var retry = RetryState()
        #expect(retry.answer(now: .zero) == nil && retry.nextTry == nil)
        retry.remember(problem, until: .seconds(2))
        #expect(retry.answer(now: .milliseconds(1999)) == problem)
        #expect(retry.answer(now: .seconds(2)) == nil)
        #expect(retry.problem == problem, "it is still told until it is tried again")
        var pauses: [Duration?] = []
        for _ in 0..<7 {
            retry.postpone(now: .zero, settings: settings)
            pauses.append(retry.nextTry)
            retry.began()
            #expect(retry.nextTry == nil)
        }
        #expect(pauses == [2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        retry.succeeded()
        #expect(retry.problem == nil)
        retry.postpone(now: .zero, settings: settings)
        #expect(retry.nextTry == .seconds(2))
    }
}
