/// One thing that can be measured by itself: some rows that come from the same work. Each is a static value in a file
/// of its own in `Measures`; they share nothing but this type.
struct Measure: Sendable {
    /// For `--only`.
    let name: String
    /// In words, for the help.
    let abstract: String
    /// When it is given up.
    let limit: Duration
    /// Takes the figures on a stage of its own, which is taken down afterwards whatever happens.
    let take: @Sendable (Stage) async throws -> [Row]

    init(
        name: String, abstract: String, limit: Duration = .seconds(240),
        take: @escaping @Sendable (Stage) async throws -> [Row]
    ) {
        self.name = name
        self.abstract = abstract
        self.limit = limit
        self.take = take
    }

    /// In the order of the report.
    static let all: [Measure] = [
        .cold, .middle, .upload, .transfers, .rclone, .official, .hydrated, .warm, .small, .list, .history,
        .sealed,
        .officialHistory, .described, .far, .messages, .pair, .contacts,
        .arrival,
    ]

    /// Those that are named, or all when none is; in the order of the report, each once.
    static func chosen(_ names: [String], from all: [Measure] = Measure.all) -> [Measure] {
        names.isEmpty ? all : all.filter { names.contains($0.name) }
    }
}
