import Base
import Testing

@Suite struct RepetitionLimitTests {
    @Test func repetitionsAreDroppedAndCounted() {
        var limit = RepetitionLimit<String>(period: .seconds(60), maxCount: 3)
        #expect(limit.verdict(on: "a", now: .seconds(1)) == .say(keptBack: 0))
        for second in 2..<12 { #expect(limit.verdict(on: "a", now: .seconds(second)) == .keepBack) }
        #expect(limit.verdict(on: "b", now: .seconds(20)) == .say(keptBack: 10))
        #expect(limit.verdict(on: "a", now: .seconds(60)) == .keepBack)
        #expect(limit.verdict(on: "a", now: .seconds(61)) == .say(keptBack: 1))
    }

    @Test func differentMessagesHaveALimit() {
        var limit = RepetitionLimit<Int>(period: .seconds(60), maxCount: 3)
        let verdicts = (0..<1000).map { limit.verdict(on: $0, now: .seconds(1)) }
        #expect(verdicts.filter { $0 != .keepBack }.count == 3)
        #expect(limit.verdict(on: 0, now: .seconds(100)) == .say(keptBack: 997))
    }

    @Test func eachCauseIsNamedOnce() {
        struct Failure: DescribedError {
            let sentence: String
            var cause: (any Error)?
        }
        let bottom = Failure(sentence: "The disk failed.")
        let middle = Failure(sentence: "The disk failed.", cause: bottom)
        let top = Failure(sentence: "Nothing was read.", cause: middle)
        #expect(sentenceWithCauses(of: top) == "Nothing was read. (The disk failed.)")
        #expect(sentenceWithCauses(of: bottom) == "The disk failed.")
    }
}
