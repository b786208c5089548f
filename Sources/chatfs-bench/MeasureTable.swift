/// Uniquely named measures in the order of the report.
struct MeasureTable: Sendable {
    /// All measures, for the choice and the help.
    static let all = MeasureTable([
        ColdMeasure(), MiddleMeasure(), TransferMeasure(), RcloneMeasure(),
        OfficialMeasure(),
        HydratedMeasure(), WarmMeasure(), SmallMeasure(), ListMeasure(), HistoryMeasure(),
        SealedMeasure(),
        OfficialHistoryMeasure(), PhoneMeasure(), DescribedMeasure(), FarMeasure(), ContactsMeasure(),
        ArrivalMeasure(),
        AttackMeasure(),
    ])

    private let measures: [any Measure]

    init(_ measures: [any Measure]) {
        precondition(Set(measures.map(\.name)).count == measures.count, "two measures have one name")
        self.measures = measures
    }

    var names: [String] { measures.map(\.name) }

    /// A paragraph for each measure.
    var help: String { measures.map { "\($0.name): \($0.abstract)." }.joined(separator: "\n\n") }

    /// Returns the named measures, or all if none is named, in the order of the report.
    func chosen(_ names: [String]) -> [any Measure] {
        names.isEmpty ? measures : measures.filter { names.contains($0.name) }
    }
}
