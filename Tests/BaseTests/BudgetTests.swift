import Base
import Testing

@Suite struct BudgetTests {
    @Test func reservationsStayWithinTheLimit() {
        let budget = Budget(limit: 10)
        #expect(budget.take(9) && !budget.take(2) && budget.take() && !budget.take())
        budget.giveBack(3)
        #expect(budget.used == 7 && budget.take(3))
    }

    @Test func existingUnitsMayExceedTheLimit() {
        let budget = Budget(limit: 10)
        budget.takeAnyway(15)
        #expect(budget.used == 15 && !budget.take(0))
        budget.giveBack(5)
        #expect(!budget.take() && budget.take(0))
        budget.giveBack(100)
        #expect(budget.used == 0)
    }

    @Test func hugeReservationsAreRefused() {
        let budget = Budget()
        #expect(budget.take(.max) && !budget.take() && !budget.take(.max))
    }

    @Test func concurrentReservationsTakeNoUnitTwice() async {
        let budget = Budget(limit: 100)
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { (0..<50).count { _ in budget.take() } } }
            return await group.reduce(0, +)
        }
        #expect(taken == 100 && budget.used == 100)
    }
}
