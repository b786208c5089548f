import Testing

/// Miscompilations of optimised builds, which debug tests cannot see. The source is searched for them.
@Suite("Traps of optimised builds")
struct OptimisedBuildTests {
    private static let sources = "Sources"

    /// Matches of a pattern in all sources, as `file: text`.
    private func places(of pattern: Regex<Substring>) throws -> [String] {
        try LayeringTests.swiftFiles(in: Self.sources).flatMap { file in
            try LayeringTests.text(file).matches(of: pattern).map { "\(file): \($0.output)" }
        }
    }

    @Test("no lock's state is a bare function")
    func functionsInLocks() throws {
        #expect(try places(of: /\b(?:Lock|Monitor)<\(+\s*(?:@\w+\s*)*\([^>\n]*\)[^>\n]*->[^\n]*/) == [])
        #expect(
            try places(
                of: /\b(?:Lock|Monitor)<\s*(?:@\w+\s*)*\([^>\n]*\)\s*(?:async\s*)?(?:throws[^>\n]*)?->[^\n]*/)
                == [])
        // The pattern finds a bad example.
        let bad = "private let listener = Lock<(@Sendable () -> Void)?>(nil)"
        #expect(bad.contains(/\b(?:Lock|Monitor)<\(+\s*(?:@\w+\s*)*\([^>\n]*\)[^>\n]*->/))
    }

    @Test("no group task catches typed errors")
    func typedCatchesInGroups() throws {
        #expect(try places(of: /group\.addTask \{[^\n]*\n\s*(?:let [^\n]*\n\s*)?do throws\([^\n]*/) == [])
    }

    /// For such a `do` whose last catch has a condition, the compiler generates code that its verifier rejects.
    @Test func typedCatchesAreExhaustive() throws {
        let files = try LayeringTests.swiftFiles(in: Self.sources)
        #expect(try files.filter { Self.hasOpenCatch(try LayeringTests.text($0)) } == [])
        let bad = "do throws(E) {\n    try a()\n} catch  where error.b {\n    c {}\n}\n"
        #expect(Self.hasOpenCatch(bad))
        #expect(!Self.hasOpenCatch(String(bad.dropLast()) + " catch {\n}\n"))
        #expect(!Self.hasOpenCatch(bad.replacing(" throws(E)", with: "")))
    }

    private static func hasOpenCatch(_ text: String) -> Bool {
        guard text.contains("do throws(") else { return false }
        let lines = text.split(separator: "\n")
        return lines.indices.contains { index in
            guard let found = lines[index].prefixMatch(of: #/( *)\} catch +where /#) else { return false }
            let indent = found.1
            let opening = lines[..<index].last { $0.hasPrefix(indent + "do ") }
            let closing = lines[(index + 1)...].first { $0.hasPrefix(indent + "}") }
            return opening?.hasPrefix(indent + "do throws(") == true
                && closing?.hasPrefix(indent + "} catch") != true
        }
    }
}
