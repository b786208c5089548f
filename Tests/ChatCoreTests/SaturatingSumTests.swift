import ChatCore
import Testing

@Suite("Sums of untrusted sizes")
struct SaturatingSumTests {
    @Test("overflow clamps at the maximum")
    func saturates() {
        let large = UInt64(Int64.max)
        #expect([large, large].saturatingSum == UInt64.max - 1)
        #expect([large, large, large].saturatingSum == .max)
        #expect([UInt64]().saturatingSum == 0 && [1, 2, 3].saturatingSum == 6)
        var sum: UInt64 = .max
        sum.addSaturating(0)
        #expect(sum == .max)
        sum.addSaturating(1)
        #expect(sum == .max)
    }
}
