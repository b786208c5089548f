/// Sums of sizes that others may have chosen.
extension UInt64 {
    /// Adds a number. The largest one is the result if the sum is larger.
    public mutating func addSaturating(_ number: UInt64) {
        let (sum, overflows) = addingReportingOverflow(number)
        self = overflows ? .max : sum
    }
}

extension Sequence where Element == UInt64 {
    /// The sum, or the largest number if the sum is larger.
    public var saturatingSum: UInt64 { reduce(into: 0) { $0.addSaturating($1) } }
}
