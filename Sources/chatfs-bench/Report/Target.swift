/// The target of a figure.
enum Target: Hashable, Sendable {
    case atLeast(Double)
    case atMost(Double)
    /// A multiple of the reference.
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    /// As good as the reference: at least 0.85 of its median, or no worse than its worst repetition.
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
