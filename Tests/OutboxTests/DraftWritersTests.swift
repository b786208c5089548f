import Testing

@testable import Outbox

/// Every transition of an opening, and their combination for a draft.
@Suite struct DraftWritersTests {
    @Test func newOpeningMayBeWriting() {
        var writers = DraftWriters()
        #expect(writers.isEmpty && writers.areFinished)
        let one = writers.open()
        #expect(!writers.isEmpty && !writers.areFinished && !writers.isFinished(one))
        #expect(writers.lastWriter(one) == nil)
        writers.close(one)
        #expect(writers.isEmpty && writers.areFinished && writers.isFinished(one))
    }

    @Test func flushFinishesUntilNextWrite() {
        var writers = DraftWriters()
        let one = writers.open()
        writers.flushed(one, .finished)
        #expect(writers.areFinished)
        _ = writers.wrote(through: one, by: 7)
        #expect(!writers.areFinished)
        #expect(writers.lastWriter(one)?.thread == 7)
        writers.flushed(one, .foreign)
        #expect(!writers.areFinished)
        writers.flushed(one, .finished)
        #expect(writers.areFinished && writers.lastWriter(one)?.isFinished == true)
        writers.flushed(one, .foreign)
        #expect(writers.areFinished)
        writers.truncated(to: 5, through: one, by: 7)
        #expect(!writers.areFinished)
    }

    @Test func everyOpeningMustFinish() {
        var writers = DraftWriters()
        let (one, two) = (writers.open(), writers.open())
        #expect(one != two)
        _ = writers.wrote(through: one, by: 7)
        writers.flushed(one, .finished)
        #expect(writers.isFinished(one) && !writers.isFinished(two) && !writers.areFinished)
        writers.flushed(two, .finished)
        #expect(writers.areFinished)
        _ = writers.wrote(through: two, by: 8)
        #expect(!writers.areFinished)
        writers.close(two)
        #expect(writers.areFinished && !writers.isEmpty)
    }

    @Test func writebackBelongsToKnownOpening() {
        var writers = DraftWriters()
        let one = writers.open()
        _ = writers.wrote(through: one, by: 0)
        let unknown = writers.lastWriter(one)
        #expect(unknown != nil && unknown?.thread == nil)
        _ = writers.wrote(through: one, by: 7)
        _ = writers.wrote(through: one, by: 0)
        #expect(writers.lastWriter(one)?.thread == 7)
    }

    @Test func onlyOpeningAfterDeathIsNewAttempt() {
        var writers = DraftWriters()
        let (one, two) = (writers.open(), writers.open())
        let first = writers.wrote(through: one, by: 7)
        #expect(first)
        writers.flushed(one, .finished)
        writers.flushed(one, .killed)
        #expect(!writers.isFinished(one))
        let (goesOn, beside) = (writers.wrote(through: one, by: 9), writers.wrote(through: two, by: 8))
        #expect(!goesOn && !beside)
        writers.close(one)
        let three = writers.open()
        #expect(three > two)
        let again = writers.wrote(through: three, by: 7)
        #expect(again)
    }

    @Test func truncationBeginsWritingExceptToZero() {
        var writers = DraftWriters()
        let (one, two) = (writers.open(), writers.open())
        writers.flushed(two, .finished)
        writers.truncated(to: 0, through: one, by: 7)
        #expect(writers.lastWriter(one) == nil)
        writers.truncated(to: 5, through: one, by: 7)
        let writer = writers.lastWriter(one)
        #expect(writer?.thread == 7 && writer?.isFinished == false)
        // A second opening wrote nothing.
        #expect(writers.lastWriter(two) == nil && writers.isFinished(two))
        // The kernel does not name the thread.
        writers.truncated(to: 6, through: two, by: 0)
        #expect(writers.lastWriter(two) != nil && writers.lastWriter(two)?.thread == nil)
    }

    @Test func truncationByPathMayBelongToAnyOpening() {
        var writers = DraftWriters()
        let (one, two) = (writers.open(), writers.open())
        for number in [one, two] { writers.flushed(number, .finished) }
        _ = writers.wrote(through: two, by: 8)
        writers.truncated(to: 5, through: nil, by: 7)
        #expect(writers.lastWriter(one)?.thread == 7 && writers.lastWriter(one)?.isFinished == false)
        #expect(writers.lastWriter(two)?.thread == 8 && !writers.isFinished(two))
        // A later opening wrote nothing.
        let three = writers.open()
        #expect(writers.lastWriter(three) == nil)
        // The kernel does not name the thread; then the file is truncated to zero.
        writers.truncated(to: 6, through: nil, by: 0)
        #expect(writers.lastWriter(one) != nil && writers.lastWriter(one)?.thread == nil)
        writers.truncated(to: 0, through: nil, by: 7)
        #expect(writers.lastWriter(one) == nil && writers.lastWriter(two)?.thread == 8)
    }

    @Test func closedOpeningsHaveNoEffect() {
        var writers = DraftWriters()
        let before = writers
        writers.close(3)
        for number in [3, nil] { writers.truncated(to: 5, through: number, by: 7) }
        for close in DescriptorClose.allCases where close != .killed { writers.flushed(3, close) }
        _ = writers.wrote(through: 3, by: 7)
        #expect(writers == before)
    }
}
