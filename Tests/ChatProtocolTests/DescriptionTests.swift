import TestSupport
import Testing

@testable import ChatProtocol

@Suite("File descriptions in parts")
struct DescriptionTests {
    @Test(
        "description splits and joins losslessly",
        arguments: [0, 1, 13_999, 14_000, 14_001, 30_000, 300_000])
    func parts(_ length: Int) {
        let text = String(String(repeating: "chunks: 1:abc\n", count: length / 14 + 1).prefix(length))
        let parts = DescriptionPart.parts(of: text, limit: 14_000)
        #expect(parts.map(\.number) == Array(1...max(1, (length + 13_999) / 14_000)))
        #expect(parts.map(\.isLast) == parts.map { $0.number == parts.count })
        var partial = PartialDescription()
        for part in parts {
            #expect(partial.take(part) == (part.isLast ? .completed : .grew))
        }
        #expect(parts.map(\.text).joined() == text)
        #expect(partial.length == length && partial.count == parts.count && partial.isComplete)
    }

    @Test("repeated parts are ignored, missing ones not guessed")
    func repeated() {
        let parts = DescriptionPart.parts(of: "abcdef", limit: 2)
        var partial = PartialDescription()
        #expect(partial.take(.awaited) == .known)
        #expect(partial.take(parts[1]) == .refused)
        #expect(partial.take(parts[0]) == .grew)
        #expect(partial.take(parts[0]) == .known)
        #expect(partial.take(parts[2]) == .refused)
        #expect(partial.take(parts[1]) == .grew)
        #expect(partial.take(parts[1]) == .known)
        #expect(partial.take(parts[2]) == .completed)
        #expect(partial.take(parts[0]) == .known)
        #expect(partial.length == 6 && partial.count == 3)
    }

    @Test("new first part restarts an incomplete description")
    func anew() {
        var partial = PartialDescription()
        #expect(partial.take(DescriptionPart(text: "old", number: 1, isLast: false)) == .grew)
        #expect(partial.take(DescriptionPart(text: "new", number: 1, isLast: true)) == .completed)
        #expect(partial.take(DescriptionPart(text: "later", number: 1, isLast: true)) == .known)
        #expect(partial.length == 3 && partial.count == 1)
    }

    @Test("endless description is abandoned")
    func endless() {
        var partial = PartialDescription()
        let text = String(repeating: "x", count: 14_000)
        var outcome = PartialDescription.Outcome.grew
        var number = 0
        while outcome == .grew, number < 1000 {
            number += 1
            outcome = partial.take(DescriptionPart(text: text, number: number, isLast: false))
        }
        #expect(outcome == .refused)
        #expect(partial.length <= ProtocolLimits.description)
    }

    @Test("stored state resumes")
    func stored() {
        let parts = DescriptionPart.parts(of: "abcd", limit: 2)
        var partial = PartialDescription()
        _ = partial.take(parts[0])
        var again = PartialDescription(
            length: partial.length, count: partial.count, isComplete: partial.isComplete, first: partial.first
        )
        #expect(again.take(parts[0]) == .known)
        #expect(again.take(parts[1]) == .completed)
        #expect(again.length == 4)
    }
}
