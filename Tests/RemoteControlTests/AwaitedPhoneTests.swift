import ChatCore
import Notifications
import Testing

@testable import chatfs

@Suite struct AwaitedPhoneTests {
    @Test func userIsToldOnceForEachAbsence() {
        let phone = AwaitedPhone()
        let away = FileProblem(.unreachable, "The phone is not connected.")
        #expect(phone.events(of: nil).isEmpty)
        #expect(phone.events(of: FileProblem(.expired, "Gone.")).isEmpty)
        #expect(phone.events(of: away) == [.refused(AwaitedPhone.request)])
        #expect(phone.events(of: away).isEmpty)
        phone.noteConnection()
        #expect(phone.events(of: away).count == 1)
    }

    @Test func octantsAreDrawnByKnownTerminalsOnly() {
        #expect(LinkDisplay.drawsOctants { ["VTE_VERSION": "7802"][$0] })
        #expect(LinkDisplay.drawsOctants { ["TERM": "xterm-kitty"][$0] })
        #expect(!LinkDisplay.drawsOctants { ["TERM": "xterm-256color", "VTE_VERSION": "7006"][$0] })
        #expect(!LinkDisplay.drawsOctants { _ in nil })
    }
}
