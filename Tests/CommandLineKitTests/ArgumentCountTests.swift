import Testing

@testable import CommandLineKit

/// The assignment of words to arguments, against a model that tries all assignments.
@Suite("Assignment of words to arguments")
struct ArgumentCountTests {
    private static let counts: [ArgumentCount] = [.one, .optional, .oneOrMore, .any]

    /// All lists of up to three arguments.
    private static let lists: [[ArgumentCount]] =
        (1...3).reduce(into: [[[]]]) { lists, _ in
            lists.append(lists[lists.count - 1].flatMap { list in counts.map { list + [$0] } })
        }.dropFirst().flatMap { $0 }

    /// Number of words for each argument: of all valid assignments, the one with the most for the first, then for the
    /// second. nil if there is none.
    private static func model(_ list: ArraySlice<ArgumentCount>, _ words: Int) -> [Int]? {
        guard let first = list.first else { return words == 0 ? [] : nil }
        let allowed: ClosedRange<Int>? =
            switch first {
            case .one: words >= 1 ? 1...1 : nil
            case .optional: 0...min(1, words)
            case .oneOrMore: words >= 1 ? 1...words : nil
            case .any: 0...words
            }
        for count in (allowed ?? 0...0).reversed() where allowed != nil {
            if let rest = model(list.dropFirst(), words - count) { return [count] + rest }
        }
        return nil
    }

    private static func arguments(_ list: [ArgumentCount]) -> [Argument<[String]>] {
        list.enumerated().map { Argument("A\($0)", .text, count: $1, "What.") }
    }

    private static func program(_ list: [ArgumentCount]) -> Command {
        Command(
            "post", "Carries letters.",
            subcommands: [Command("send", "Send.", arguments: arguments(list)) { _ in }])
    }

    @Test("repeated arguments leave words for required ones")
    func everyList() throws {
        #expect(Self.lists.count == 4 + 16 + 64)
        for list in Self.lists {
            let program = Self.program(list)
            for count in 0...5 {
                let words = (0..<count).map { "w\($0)" }
                let expected = Self.model(list[...], count)
                do throws(Parser.Failure) {
                    guard case .run(let invocation) = try Parser.parse(["send"] + words, of: program) else {
                        Issue.record("not run")
                        return
                    }
                    let values = Self.arguments(list).map { invocation[$0] }
                    #expect(values.map(\.count) == expected, "\(list) of \(count)")
                    #expect(values.flatMap { $0 } == words, "in their order")
                } catch {
                    #expect(expected == nil, "\(list) of \(count): \(error.error.sentence)")
                }
            }
        }
    }

    @Test("missing arguments and surplus words are named")
    func sentences() {
        func complaint(_ list: [ArgumentCount], _ words: [String]) -> String? {
            do throws(Parser.Failure) {
                _ = try Parser.parse(["send"] + words, of: Self.program(list))
                return nil
            } catch { return error.error.sentence }
        }
        #expect(complaint([.one, .one], []) == "A0 is missing")
        #expect(complaint([.one, .one], ["a"]) == "A1 is missing")
        #expect(complaint([.optional, .one], []) == "A1 is missing")
        #expect(complaint([.any, .oneOrMore], []) == "A1 is missing")
        #expect(complaint([.one, .optional], ["a", "b", "c", "d"]) == "unexpected argument 'c'")
    }

    @Test("usage shows how often arguments repeat")
    func usage() {
        #expect(Self.counts.map { Argument("X", .text, count: $0, "").usage } == ["X", "[X]", "X…", "[X…]"])
    }
}
