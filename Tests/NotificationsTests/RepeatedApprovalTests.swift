import ChatCore
import Testing

@testable import Notifications

@Suite("Repeated approval notices")
struct RepeatedApprovalTests {
    private typealias Fixture = MachineFixture

    @Test("a new attempt is notified once a minute")
    func attempts() {
        var fixture = Fixture()
        let event = {
            NotificationEvent.awaitsApproval(Fixture.file(7), relays: ["xftp://a@b"], isAttempt: $0)
        }
        fixture.add(event(false))
        fixture.add(event(true))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().count == 1)
        fixture.pass(.seconds(58))
        fixture.add(event(true))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().count == 1)
        fixture.add(event(true))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().isEmpty, "a second one in the same minute")
        fixture.pass(.seconds(60))
        fixture.add(event(false))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().isEmpty, "nobody tried")
    }
}
