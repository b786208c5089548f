/// Measures in the order of the report, each with a name of its own.
struct MeasureTable: Sendable {
    /// All there are. What can be chosen and what the help says comes from here.
    static let all = MeasureTable([
        ColdMeasure(), MiddleMeasure(), UploadMeasure(), TransferMeasure(), RcloneMeasure(),
        OfficialMeasure(),
        HydratedMeasure(), WarmMeasure(), SmallMeasure(), ListMeasure(), HistoryMeasure(),
        SealedMeasure(),
        OfficialHistoryMeasure(), DescribedMeasure(), FarMeasure(), MessagesMeasure(), PairMeasure(),
        ContactsMeasure(), ArrivalMeasure(), AttackMeasure(),
    ])

    private let measures: [any Measure]

    init(_ measures: [any Measure]) {
        precondition(Set(measures.map(\.name)).count == measures.count, "two measures have one name")
        self.measures = measures
    }

    var names: [String] { measures.map(\.name) }

    /// A paragraph for each.
    var help: String { measures.map { "\($0.name): \($0.abstract)." }.joined(separator: "\n\n") }

    /// Those that are named, or all when none is; in the order of the report, each once.
    func chosen(_ names: [String]) -> [any Measure] {
        names.isEmpty ? measures : measures.filter { names.contains($0.name) }
    }
}
