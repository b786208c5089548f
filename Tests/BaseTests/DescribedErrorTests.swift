import Base
import Testing

@Suite("Errors speak for themselves")
struct DescribedErrorTests {
    private enum Code: Hashable, Sendable { case lost, broken }
    private typealias Failure = CodedError<Code>
    private struct Foreign: Error, CustomStringConvertible { let description = "foreign words" }

    @Test("errors keep code, sentence and cause")
    func parts() {
        let cause = Failure(.broken, "The disk broke.")
        let error = Failure(.lost, "Nothing was read.", cause: cause)
        #expect(error.code == .lost && error.sentence == "Nothing was read.")
        #expect((error.cause as? Failure)?.code == .broken)
        #expect(cause.cause == nil)
        #expect("\(error)" == "Nothing was read.")
    }

    @Test("other errors have their description")
    func sentences() {
        #expect(sentence(of: Failure(.lost, "Gone.")) == "Gone.")
        #expect(sentence(of: Foreign()) == "foreign words")
    }

    @Test("logs include all causes")
    func causes() {
        let bottom = Failure(.broken, "The cable is out.", cause: Foreign())
        let middle = Failure(.broken, "The disk broke.", cause: bottom)
        let top = Failure(.lost, "Nothing was read.", cause: middle)
        #expect(
            sentenceWithCauses(of: top)
                == "Nothing was read. (The disk broke. The cable is out. foreign words)")
        #expect(sentenceWithCauses(of: Foreign()) == "foreign words")
    }

    @Test(
        "a sentence gets one full stop",
        arguments: [
            ("It broke", "It broke."), ("It broke.", "It broke."), ("Who?", "Who?"), ("Stop!", "Stop!"),
            ("And so on…", "And so on…"), ("(in parentheses)", "(in parentheses)."), ("", ""),
        ])
    func fullStop(text: String, ended: String) { #expect(text.endingInFullStop == ended) }
}
