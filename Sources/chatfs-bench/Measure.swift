/// One thing that can be measured by itself: some rows that come from the same work. Each is a type in a file of its
/// own in `Measures`, with what it alone does; what several do is in `Stage` and `Work`.
protocol Measure: Sendable {
    /// For `--only`.
    var name: String { get }
    /// In words, for the help.
    var abstract: String { get }
    /// When it is given up.
    var limit: Duration { get }

    /// Takes the figures on a stage of its own, which is taken down afterwards whatever happens.
    /// - Throws: `BenchError`, and whatever goes wrong: it leaves a gap in the report.
    func take(on stage: Stage) async throws -> [Row]
}

extension Measure {
    var limit: Duration { .seconds(240) }
}
