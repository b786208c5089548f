/// Everything that a run found.
struct Report: Sendable {
    /// A measure that gave no rows, and why.
    struct Gap: Encodable, Sendable {
        let measure: String
        let reason: String
    }

    /// YYYY-MM-DD.
    let date: String
    var machine: [(name: String, value: String)]
    let isQuick: Bool
    var rows: [Row] = []
    var gaps: [Gap] = []
}
