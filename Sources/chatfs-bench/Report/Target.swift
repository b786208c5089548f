/// What a figure should reach.
enum Target: Hashable, Sendable {
    case atLeast(Double)
    case atMost(Double)
    /// So many times the reference.
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    /// As good as the reference: not worse than 0.85 of its median, or than its worst repetition, whichever
    /// is less.
    case asReference

    private static let noise = 0.85

    /// How far a row has come: 1 is the target itself, more is better, nil without what it is compared
    /// with. Nothing where nothing is allowed is as good as can be.
    func reach(of row: Row) -> Double? {
        switch self {
        case .atLeast(let bound): return row.value / bound
        case .atMost(let bound): return Self.share(bound, of: row.value)
        case .ratioAtLeast(let bound): return row.ratio.map { $0 / bound }
        case .ratioAtMost(let bound): return row.ratio.map { Self.share(bound, of: $0) }
        case .asReference:
            guard let reference = row.reference, let worst = Self.worst(of: reference, row.unit) else {
                return nil
            }
            return row.unit.isRate ? row.value / worst : Self.share(worst, of: row.value)
        }
    }

    private static func worst(of reference: Reference, _ unit: Unit) -> Double? {
        unit.isRate
            ? reference.samples.min().map { min($0, reference.value * noise) }
            : reference.samples.max().map { max($0, reference.value / noise) }
    }

    private static func share(_ bound: Double, of value: Double) -> Double {
        value > 0 ? bound / value : .infinity
    }

    /// `≤ 25 ms`, `≥ 5 ×`.
    func text(_ unit: Unit) -> String {
        switch self {
        case .atLeast(let bound): "≥ \(FigureText.bound(bound)) \(unit.rawValue)"
        case .atMost(let bound): "≤ \(FigureText.bound(bound)) \(unit.rawValue)"
        case .ratioAtLeast(let bound): "≥ \(FigureText.bound(bound)) ×"
        case .ratioAtMost(let bound): "≤ \(FigureText.bound(bound)) ×"
        case .asReference: "within noise"
        }
    }
}
