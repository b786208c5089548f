/// The results of a run.
struct Report: Sendable {
    /// A measure without rows, and the reason.
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
