import Base
import ChatCore
import Testing

@testable import Notifications

@Suite("Kinds of notifications")
struct KindTests {
    typealias Fixture = MachineFixture

    fileprivate static func text(
        _ id: String, _ words: String, in chat: ChatReference = .direct(1), by sender: String = ""
    ) -> NotifiedFile {
        NotifiedFile(
            .text(TextReference(id, in: chat)), in: chat, named: "Bob", name: "", sender: sender,
            caption: words)
    }

    private static func request(_ number: Int64, by name: String, group: String = "") -> NotifiedFile {
        NotifiedFile(
            .request(number), in: group.isEmpty ? nil : .direct(1), named: "", name: group, sender: name,
            caption: "Hello")
    }

    private static func known() -> NotificationRecord {
        var told = NotificationRecord(beginning: Fixture.beginning, history: ItemID(0))
        told.begin(logEnds: [:], contacts: [])
        return told
    }

    private static func said(_ texts: [NotificationText]) -> [String] {
        texts.map { "\($0.summary) / \($0.body) / \($0.buttons.joined(separator: ", "))" }
    }

    @Test("texts are notified once without secrets")
    func texts() {
        var fixture = Fixture()
        fixture.add(.wrote(Self.text("a", "My code is #4711#."), end: 10))
        fixture.pass(.zero)
        #expect(Self.said(fixture.shown().map(\.text)) == ["Bob wrote / My code is …. / Mark as Read"])
        fixture.add(.wrote(Self.text("b", "Second"), end: 20))
        fixture.pass(.seconds(2))
        #expect(fixture.shown().map(\.text.body) == ["My code is ….\nSecond"])
        #expect(fixture.machine.told.unread.byChat == [.direct(1): 2])
        var next = Fixture(told: fixture.machine.told)
        for (id, end) in [("a", 10), ("b", 20)] as [(String, UInt64)] {
            next.add(.wrote(Self.text(id, "Again"), end: end))
        }
        next.add(.wrote(Self.text("c", "New"), end: 30))
        next.pass(.seconds(2))
        #expect(next.shown().map(\.text.body) == ["New"])
    }

    @Test("previews limit the text")
    func previews() {
        let said = NotificationPreview.allCases.flatMap { preview -> [String] in
            var fixture = Fixture(preview: preview)
            fixture.add(.wrote(Self.text("a", "Words", in: .group(2), by: "Eve"), end: 10))
            fixture.pass(.zero)
            return Self.said(fixture.shown().map(\.text))
        }
        #expect(
            said == [
                "Eve wrote in Bob / Words / Mark as Read", "New message in Bob /  / Mark as Read",
                "ChatFS / New message / Mark as Read",
            ])
    }

    @Test("a picture is named with its preview")
    func pictures() {
        var fixture = Fixture()
        let file = NotifiedFile(
            .item(ItemID(1)), in: .direct(1), named: "Bob", name: "IMG_2036.jpg", kind: .picture,
            hasPreview: true)
        fixture.add(.arrived(file, time: Fixture.beginning))
        fixture.pass(.zero)
        let text = fixture.shown().first?.text
        #expect(text?.summary == "Bob sent a picture" && text?.body == "IMG_2036.jpg")
        #expect(text?.pictureOf == file && text?.buttons == ["Open", "Show in Folder"])
        let click = NotificationAnswer.acted(token: 1, 0)
        #expect(
            fixture.machine.hear(click, at: fixture.now)
                == [.perform(.open(.item(ItemID(1)))), .close(token: 1)])
    }

    @Test("clicks on other files show their folder")
    func click() {
        var fixture = Fixture()
        fixture.arrive(1...2)
        fixture.pass(.zero)
        #expect(fixture.shown().first?.text.buttons == ["Show in Folder", "Mark as Read"])
        #expect(
            fixture.machine.hear(.acted(token: 1, 0), at: fixture.now).first
                == .perform(.show([.item(ItemID(1)), .item(ItemID(2))])))
    }

    @Test("a request is notified once with buttons")
    func requests() {
        var fixture = Fixture(told: Self.known())
        fixture.add(.asked(Self.request(7, by: "Eve")))
        fixture.add(.asked(Self.request(8, by: "Bob", group: "Book club")))
        fixture.pass(.seconds(2))
        #expect(
            Self.said(fixture.shown().map(\.text)).sorted() == [
                "Bob invites you into a group / Book club / Accept, Reject",
                "Eve asks to be your contact / Hello / Accept, Reject",
            ])
        fixture.add(.asked(Self.request(7, by: "Eve")))
        fixture.add(.waitingRequests([8]))
        fixture.pass(.seconds(2))
        #expect(fixture.take().contains(.close(token: 1)))
        #expect(
            fixture.machine.hear(.acted(token: 2, 2), at: fixture.now).first == .perform(.reject(8)))
        var next = Fixture(told: fixture.machine.told)
        next.add(.asked(Self.request(8, by: "Bob", group: "Book club")))
        next.pass(.seconds(2))
        #expect(next.shown().isEmpty)
    }

    @Test("an answered request is not notified")
    func answeredEarly() {
        var fixture = Fixture()
        for number in 1...2 { fixture.add(.asked(Self.request(Int64(number), by: "Eve \(number)"))) }
        fixture.add(.waitingRequests([2]))
        fixture.pass(.seconds(2))
        #expect(fixture.shown().map(\.text.summary) == ["Eve 2 asks to be your contact"])
    }

    @Test("many requests share one notification")
    func manyRequests() {
        var fixture = Fixture()
        for number in 1...9 { fixture.add(.asked(Self.request(Int64(number), by: "Eve \(number)"))) }
        fixture.pass(.seconds(2))
        let texts = fixture.shown().map(\.text)
        #expect(texts.count == 1 && texts[0].buttons.isEmpty)
        #expect(texts.first?.body.hasPrefix("9 people ask to be your contacts: Eve 9, Eve 8") == true)
        #expect(texts.first?.body.contains("chatfs ") == false, "no command line")
    }

    @Test("a contact is notified once across mounts")
    func contacts() {
        var fixture = Fixture(told: Self.known())
        for _ in 0..<3 { fixture.add(.connected(.direct(4), named: "Bob", at: Fixture.beginning)) }
        fixture.pass(.seconds(2))
        #expect(fixture.shown().map(\.text.summary) == ["Bob is connected"])
        #expect(
            fixture.machine.hear(.acted(token: 1, 0), at: fixture.now).first
                == .perform(.showFolder(.direct(4))))
        var next = Fixture(told: fixture.machine.told)
        next.add(.connected(.direct(4), named: "Bob", at: Fixture.beginning))
        next.pass(.seconds(2))
        #expect(next.shown().isEmpty)
        // The record of a version without contacts does not make them all new.
        var old = Fixture()
        old.add(.connected(.direct(4), named: "Bob", at: Fixture.beginning))
        old.pass(.seconds(2))
        #expect(old.shown().isEmpty)
    }

    @Test("contacts from before the first mount are not new")
    func oldContacts() {
        var fixture = Fixture(told: Self.known())
        for chat in 1...40 {
            let time = Fixture.beginning.advanced(by: .seconds(-3600 * chat))
            fixture.add(.connected(.direct(Int64(chat)), named: "Old \(chat)", at: time))
        }
        fixture.pass(.seconds(5))
        #expect(fixture.shown().isEmpty && fixture.machine.told.contacts?.count == 40)
    }

    @Test("a killed mount is reported once")
    func stopped() {
        var told = Self.known()
        // The last one follows a reboot.
        let found = ["boot", "boot", "another boot"].map { told.beginProcess(in: $0) }
        #expect(found == [false, true, false])
        var fixture = Fixture(told: told)
        fixture.add(.stopped)
        fixture.pass(.zero)
        #expect(fixture.shown().map(\.text.summary) == ["ChatFS had stopped"])
        _ = fixture.machine.finish(at: fixture.now)
        var after = fixture.machine.told
        let again = after.beginProcess(in: "another boot")
        #expect(!again)
    }

    @Test("a silenced subject is hidden but counted", arguments: NotificationSubject.allCases)
    func silenced(subject: NotificationSubject) {
        var fixture = Fixture(told: Self.known())
        fixture.machine = NotificationMachine(
            mode: .instant, preview: .message, silenced: [subject], told: Self.known(), at: fixture.now)
        let file = Fixture.file(1)
        let events: [(NotificationSubject, NotificationEvent)] = [
            (.arrival, .arrived(file, time: Fixture.beginning)),
            (.text, .wrote(Self.text("a", "Words"), end: 5)),
            (.connection, .connected(.direct(9), named: "Eve", at: Fixture.beginning)),
            (.request, .asked(Self.request(1, by: "Eve"))),
            (.invitation, .asked(Self.request(2, by: "Bob", group: "Club"))), (.stop, .stopped),
            (.approval, .awaitsApproval(Fixture.file(2), relays: ["xftp://a@b"])),
            (.failure, .sendingFailed(Fixture.file(3), why: "No.", mayRetry: true)),
            (.expiry, .expires(Fixture.file(4), at: Fixture.beginning)),
            (.refusal, .refused(RefusedRequest("No."))), (.hold, .held(Fixture.file(5), why: "No.")),
            (.keys, .keysChanged(.direct(5), named: "Bob")),
        ]
        #expect(Set(events.map(\.0)) == Set(NotificationSubject.allCases))
        for (_, event) in events { fixture.add(event) }
        fixture.pass(.seconds(60))
        #expect(fixture.shown().count == events.count - 1)
        #expect(fixture.machine.told.unread.count == 2)
    }
}

@Suite("Unread counts")
struct UnreadTests {
    typealias Fixture = MachineFixture

    @Test("marking a chat as read clears it")
    func markRead() {
        var fixture = Fixture()
        fixture.arrive(1...3)
        fixture.arrive(9...9, in: .direct(2))
        fixture.pass(.zero)
        #expect(fixture.machine.told.unread.byChat == [.direct(1): 3, .direct(2): 1])
        // Waiting arrivals are dropped too.
        fixture.arrive(4...4)
        fixture.add(.seen(.direct(1)))
        _ = fixture.take()
        fixture.pass(.seconds(5))
        let effects = fixture.take()
        #expect(effects.contains(.close(token: 1)) && effects.contains(.count(1)))
        #expect(!effects.contains { if case .show = $0 { true } else { false } })
    }

    @Test("the button marks a chat as read")
    func button() {
        var fixture = Fixture()
        fixture.arrive(1...3)
        fixture.pass(.zero)
        #expect(fixture.machine.hear(.acted(token: 1, 2), at: fixture.now) == [.close(token: 1)])
        fixture.pass(.seconds(5))
        #expect(fixture.machine.told.unread.isEmpty && fixture.take().contains(.count(0)))
    }

    @Test("only a window's listing counts as seen")
    func looking() {
        for isShown in [true, false] {
            var fixture = Fixture()
            fixture.arrive(1...3)
            fixture.pass(.zero)
            fixture.add(.listed(.direct(1)))
            fixture.pass(.milliseconds(900))
            #expect(fixture.machine.chatsDue(at: fixture.now).isEmpty)
            fixture.now += .seconds(1)
            #expect(fixture.machine.chatsDue(at: fixture.now) == [.direct(1)])
            if isShown { fixture.inFront = [.direct(1)] }
            fixture.pass(.seconds(100))
            #expect(fixture.machine.told.unread.count == (isShown ? 0 : 3))
            #expect(fixture.machine.wake == nil)
        }
    }

    @Test("files in a shown folder are not unread")
    func inFront() {
        var fixture = Fixture()
        fixture.inFront = [.direct(1)]
        fixture.arrive(1...3)
        fixture.pass(.seconds(5))
        #expect(fixture.machine.told.unread.isEmpty && fixture.shown().isEmpty)
    }

    @Test("reading the log reads its texts")
    func log() {
        var fixture = Fixture()
        let text = KindTests.text("a", "Words")
        fixture.add(.wrote(text, end: 5))
        fixture.arrive(1...1)
        fixture.pass(.seconds(5))
        #expect(fixture.machine.told.unread.byChat == [.direct(1): 2])
        fixture.add(.readTexts(.direct(1)))
        #expect(fixture.machine.told.unread.byChat == [.direct(1): 1])
    }

    @Test("a deleted text lowers the count, once")
    func deletedTexts() {
        var fixture = Fixture()
        for id in ["a", "b", "c"] {
            let text = KindTests.text(id, id)
            fixture.add(.wrote(text, end: UInt64(id.utf8.first ?? 0)))
        }
        fixture.pass(.seconds(5))
        #expect(fixture.machine.told.unread.count == 3 && fixture.take().contains(.count(3)))
        for _ in 0..<2 { fixture.add(.gone(.text(TextReference("b", in: .direct(1))))) }
        fixture.pass(.seconds(5))
        #expect(fixture.machine.unread == [.direct(1): 2])
        let effects = fixture.take()
        #expect(effects.contains(.count(2)))
        #expect(effects.contains { if case .show(_, let text) = $0 { text.isQuiet } else { false } })
        // Also in the next mount.
        var next = Fixture(told: fixture.machine.told)
        for id in ["a", "c"] { next.add(.gone(.text(TextReference(id, in: .direct(1))))) }
        next.pass(.seconds(10))
        #expect(next.machine.told.unread.isEmpty)
        let records = next.take()
        #expect(records.contains { if case .record(let told) = $0 { told.unread.isEmpty } else { false } })
    }

    @Test("a peer's id of a text is no text of another chat or member")
    func repeatedIDs() {
        var fixture = Fixture()
        let club = ChatReference.group(2)
        let texts = [
            TextReference("a", in: .direct(1)), TextReference("a", by: "eve", in: club),
            TextReference("a", by: "zoe", in: club),
        ]
        for (number, text) in texts.enumerated() {
            fixture.add(
                .wrote(
                    NotifiedFile(.text(text), in: text.chat, named: "x", name: "", caption: "x"),
                    end: UInt64(number + 1)))
        }
        for stranger in [
            TextReference("a", in: .direct(7)), TextReference("a", in: club),
            TextReference("a", by: "bob", in: club), TextReference("a", by: "eve", in: .group(3)),
        ] { fixture.add(.gone(.text(stranger))) }
        fixture.pass(.seconds(5))
        #expect(fixture.machine.unread == [.direct(1): 1, club: 2])
        // Also in the next mount.
        var next = Fixture(told: fixture.machine.told)
        next.add(.gone(.text(TextReference("a", in: .direct(7)))))
        next.add(.gone(.text(texts[1])))
        next.pass(.seconds(10))
        #expect(next.machine.unread == [.direct(1): 1, club: 1])
    }

    @Test("early deletion leaves no count")
    func deletedEarly() {
        var fixture = Fixture(.periodic)
        let text = KindTests.text("a", "Words")
        fixture.add(.wrote(text, end: 5))
        #expect(fixture.machine.unread == [.direct(1): 1])
        fixture.add(.gone(.text(TextReference("a", in: .direct(1)))))
        fixture.pass(.seconds(3600))
        #expect(fixture.machine.unread.isEmpty && fixture.shown().isEmpty)
    }

    @Test("reading a chat shrinks a notification of several")
    func readOfSeveral() {
        var fixture = Fixture()
        for chat in 1...5 { fixture.arrive(Int64(chat)...Int64(chat), in: .direct(Int64(chat))) }
        fixture.pass(.zero)
        #expect(fixture.shown().map(\.text.summary) == ["5 new files in 5 chats"])
        fixture.add(.seen(.direct(5)))
        fixture.pass(.seconds(5))
        let shown = fixture.shown()
        #expect(shown.map(\.text.summary) == ["4 new files in 4 chats"] && shown.first?.text.isQuiet == true)
        #expect(shown.first?.text.body == "chat @4, chat @3, chat @2, chat @1")
        for chat in 1...4 { fixture.add(.seen(.direct(Int64(chat)))) }
        fixture.pass(.seconds(5))
        #expect(fixture.take().contains(.close(token: 1)))
    }

    @Test("arrivals seen before a report are not reported")
    func seenEarly() {
        let text = KindTests.text("a", "Words")
        var fixture = Fixture(.periodic)
        fixture.add(.wrote(text, end: 5))
        fixture.pass(.seconds(60))
        fixture.add(.readTexts(.direct(1)))
        fixture.arrive(1...3, in: .direct(2))
        fixture.add(.listed(.direct(2)))
        fixture.inFront = [.direct(2)]
        fixture.pass(.seconds(60))
        fixture.inFront = []
        fixture.pass(.seconds(3600))
        #expect(fixture.shown().isEmpty && fixture.machine.told.unread.isEmpty)
        var next = Fixture(told: fixture.machine.told)
        next.add(.wrote(text, end: 5))
        next.arrive(1...3, in: .direct(2))
        next.pass(.seconds(5))
        #expect(next.shown().isEmpty)
    }

    @Test("deletions shrink a notification")
    func deleted() {
        var fixture = Fixture()
        fixture.arrive(1...3)
        fixture.pass(.zero)
        #expect(fixture.shown().last?.text.summary == "someone sent 3 files to chat @1")
        fixture.add(.gone(.item(ItemID(2))))
        fixture.pass(.seconds(5))
        let shown = fixture.shown()
        #expect(shown.map(\.token) == [1] && shown.first?.text.isQuiet == true)
        #expect(shown.first?.text.summary == "someone sent 2 files to chat @1")
        #expect(shown.first?.text.body == "3.txt, 1.txt")
    }

    @Test("repeated openings update once a second")
    func openedFast() {
        var fixture = Fixture()
        fixture.arrive(1...50)
        fixture.pass(.seconds(2))
        _ = fixture.take()
        for id in 1...40 {
            fixture.add(.opened(.item(ItemID(Int64(id)))))
            fixture.pass(.milliseconds(50))
        }
        fixture.pass(.seconds(5))
        let shown = fixture.shown()
        #expect((1...4).contains(shown.count) && shown.last?.text.summary.contains("10 files") == true)
    }
}
