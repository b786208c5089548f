/// A measure: rows from the same work. Each is a type in its own file in `Measures` with its own work; common work is
/// in `Stage` and `Work`.
protocol Measure: Sendable {
    /// The name for `--only`.
    var name: String { get }
    /// The description for the help.
    var abstract: String { get }
    /// The time limit.
    var limit: Duration { get }

    /// Measures on its own stage, which is always taken down.
    /// - Throws: `BenchError` or any other error, which leaves a gap in the report.
    func take(on stage: Stage) async throws -> [Row]
}

extension Measure {
    var limit: Duration { .seconds(240) }
}
