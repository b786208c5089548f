/// Sums of untrusted sizes.
extension UInt64 {
    /// Adds a number, clamping at the maximum.
    public mutating func addSaturating(_ number: UInt64) {
        let (sum, overflows) = addingReportingOverflow(number)
        self = overflows ? .max : sum
    }
}

extension Sequence where Element == UInt64 {
    /// The sum, clamped at the maximum.
    public var saturatingSum: UInt64 { reduce(into: 0) { $0.addSaturating($1) } }
}
