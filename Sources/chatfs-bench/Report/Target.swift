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
