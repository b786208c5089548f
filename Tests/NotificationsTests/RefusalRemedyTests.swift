import ChatCore
import Testing

@testable import Notifications

@Suite("Buttons that permit refused operations")
struct RefusalRemedyTests {
    private static let table: [(remedy: RefusalRemedy, button: String)] = [
        (.allowDeleting, "Allow Deleting"), (.sendArchives, "Send as Archive"),
        (.allowProgram("clamscan"), "Allow Program"),
    ]

    @Test("each remedy has a button and its effect", arguments: NotificationPreview.allCases)
    func buttons(preview: NotificationPreview) {
        for (remedy, button) in Self.table {
            let request = RefusedRequest("No.", chatName: "alice", remedy: remedy)
            let group = NotificationGroup(
                .init(chat: nil, subject: .refusal, refusal: request), since: .now)
            let text = NotificationComposer(preview: preview, escapesMarkup: false).text(of: group)
            #expect(text.body == "No. \(remedy.effect)")
            let actions = group.actions(namesRelays: text.namesRelays)
            #expect(actions.click == nil && actions.buttons == [.permit(remedy)])
            #expect(actions.buttons.map(NotificationComposer.button) == [button])
            #expect(!text.body.contains("clamscan"), "the sentence has no names")
        }
    }

    @Test("a pressed button permits and closes")
    func pressed() throws {
        var fixture = MachineFixture()
        fixture.add(.refused(RefusedRequest("No.", remedy: .allowDeleting)))
        fixture.pass(.seconds(2))
        let shown = try #require(fixture.shown().last)
        #expect(shown.text.buttons == ["Allow Deleting"])
        let effects = fixture.machine.hear(.acted(token: shown.token), at: fixture.now)
        #expect(effects == [.perform(.permit(.allowDeleting)), .close(token: shown.token)])
    }
}
