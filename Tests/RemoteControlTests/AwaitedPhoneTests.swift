import ChatCore
import Notifications
import OfficialCore
import Testing

@testable import chatfs

@Suite struct AwaitedPhoneTests {
    private static let profile = Profile(id: 1, displayName: "alice")

    @Test func userIsToldOnceForEachAbsence() {
        let phone = AwaitedPhone(of: Self.profile)
        let away = FileProblem(.unreachable, "The phone is not connected.")
        #expect(phone.events(of: nil).isEmpty)
        #expect(phone.events(of: FileProblem(.expired, "Gone.")).isEmpty)
        #expect(phone.events(of: away) == [.refused(AwaitedPhone.request)])
        #expect(phone.events(of: away).isEmpty)
        phone.noteConnection()
        #expect(phone.events(of: away).count == 1)
    }

    @Test func anotherProfileIsToldAtEachConnection() {
        let phone = AwaitedPhone(of: Self.profile)
        let error = OfficialCoreError.otherProfile(than: Self.profile)
        #expect(phone.other.subject == "alice")
        #expect(phone.events(ofAbsence: nil).isEmpty)
        let isSilent = OfficialCoreError(.unidentified, error.sentence)
        #expect(phone.events(ofAbsence: isSilent).isEmpty)
        for _ in 1...2 {
            #expect(phone.events(ofAbsence: error) == [.refused(phone.other)])
            #expect(phone.events(of: FileProblem(.unreachable, "", cause: error)).isEmpty)
        }
        // It left.
        let away = FileProblem(.unreachable, "The phone is not connected.")
        #expect(phone.events(of: away) == [.refused(AwaitedPhone.request)])
    }

    @Test func octantsAreDrawnByKnownTerminalsOnly() {
        #expect(LinkDisplay.drawsOctants { ["VTE_VERSION": "7802"][$0] })
        #expect(LinkDisplay.drawsOctants { ["TERM": "xterm-kitty"][$0] })
        #expect(!LinkDisplay.drawsOctants { ["TERM": "xterm-256color", "VTE_VERSION": "7006"][$0] })
        #expect(!LinkDisplay.drawsOctants { _ in nil })
    }
}
