extension Row {
    /// Progress towards the target: 1 is the target, more is better; nil without a target or reference. Zero against a
    /// target of zero is the best value.
    var reach: Double? {
        switch target {
        case nil: return nil
        case .atLeast(let bound): return value / bound
        case .atMost(let bound): return Self.share(bound, of: value)
        case .ratioAtLeast(let bound): return ratio.map { $0 / bound }
        case .ratioAtMost(let bound): return ratio.map { Self.share(bound, of: $0) }
        case .asReference:
            guard let reference, let worst = Self.worst(of: reference, unit) else { return nil }
            return unit.isRate ? value / worst : Self.share(worst, of: value)
        }
    }

    var isMet: Bool? { reach.map { $0 >= 1 } }

    private static let noise = 0.85

    private static func worst(of reference: Reference, _ unit: Unit) -> Double? {
        unit.isRate
            ? reference.samples.min().map { min($0, reference.value * noise) }
            : reference.samples.max().map { max($0, reference.value / noise) }
    }

    private static func share(_ bound: Double, of value: Double) -> Double {
        value > 0 ? bound / value : .infinity
    }
}
