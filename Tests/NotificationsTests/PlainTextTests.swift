import Base
import ChatCore
import Testing

@testable import MessageBus
@testable import Notifications

@Suite("Plain texts")
struct PlainTextTests {
    @Test(
        "whitespace becomes single spaces",
        arguments: [
            ("a b", "a b"), ("  a \t\n  b  ", "a b"), ("a\u{2028}b\u{A0}c\r\nd", "a b c d"), ("\u{7}", ""),
            (" ", ""), ("a\u{0}b", "ab"), ("a \u{0} b", "a b"), ("\u{202E}x\u{2066}", "x"),
            ("a\u{200B}", "a"),
            ("\u{E000}\u{FFFF}", ""), ("é 👩‍👩‍👧", "é 👩‍👩‍👧"), ("No.\n", "No."),
        ])
    func lines(text: String, line: String) { #expect(PlainText.line(text, limit: 100) == line) }

    @Test("long texts are cut between characters")
    func shortened() {
        #expect(PlainText.shortened("abcdef", to: 6) == "abcdef")
        #expect(PlainText.shortened("abcdefg", to: 6) == "abc…")
        #expect(PlainText.shortened("aé👍b", to: 7) == "aé…")
        #expect(PlainText.shortened("aé👍b", to: 8) == "aé👍b")
        #expect(PlainText.shortened("👍👍", to: 4) == "…")
        #expect(PlainText.shortened("", to: 0) == "")
        for limit in 3...40 {
            let text = PlainText.shortened("e\u{301}👩‍👩‍👧 and a long text of words", to: limit)
            #expect(text.utf8.count <= limit && text.hasSuffix("…"))
        }
    }

    @Test("a reason ends with one full stop")
    func reasons() {
        func body(_ why: String) -> String {
            var group = NotificationGroup(.init(chat: .direct(1), subject: .failure), since: .now)
            group.add(MachineFixture.file(1), why: why)
            return NotificationComposer(preview: .contact, escapesMarkup: false).text(of: group).body
        }
        #expect(body("The disk is full.\n") == "A file could not be sent. The disk is full.")
        #expect(body("The disk is full ") == "A file could not be sent. The disk is full.")
        #expect(body("") == "A file could not be sent.")
    }

    @Test("markup is escaped")
    func markup() {
        #expect(PlainText.escaped("a < b & c > d") == "a &lt; b &amp; c &gt; d")
        #expect(PlainText.escaped("&amp;") == "&amp;amp;")
        #expect(PlainText.escaped("\"quotes\" 'stay'") == "\"quotes\" 'stay'")
    }

    @Test("buttons name their action and relays")
    func buttons() {
        #expect(NotificationComposer.button(.approve(["a"])) == "Approve Relay")
        #expect(NotificationComposer.button(.approve(["a", "b"])) == "Approve Relays")
        #expect(NotificationComposer.button(.retry([])) == "Try Again")
        #expect(NotificationComposer.button(.keep([])) == "Keep")
        #expect(NotificationComposer.button(.send([])) == "Send")
        #expect(NotificationComposer.button(.discard([])) == "Discard")
    }

    @Test("truncated or extended messages are rejected")
    func frames() {
        let requests: [BusRequest] = [
            .show(token: 7, NotificationText(summary: "s", body: "b", buttons: ["x"], urgency: .critical)),
            .show(token: .max, NotificationText(summary: "", body: "", urgency: .low, category: "")),
            .close(token: 0), .count(.max),
        ]
        for request in requests {
            let bytes = request.encoded
            #expect(BusRequest(encoded: bytes) == request)
            for length in 0..<bytes.count { #expect(BusRequest(encoded: Array(bytes.prefix(length))) == nil) }
            #expect(BusRequest(encoded: bytes + [0]) == nil)
        }
        let answers: [NotificationAnswer] = [
            .noService, .shown(token: 1), .failed(token: 2), .closed(token: 3), .acted(token: .max),
        ]
        for answer in answers {
            let bytes = answer.encoded
            #expect(NotificationAnswer(encoded: bytes) == answer)
            for length in 0..<bytes.count {
                #expect(NotificationAnswer(encoded: Array(bytes.prefix(length))) == nil)
            }
            #expect(NotificationAnswer(encoded: bytes + [0]) == nil)
        }
        let ready = NotificationAnswer.ready(capabilities: ["actions", ""]).encoded
        #expect(NotificationAnswer(encoded: ready) == .ready(capabilities: ["actions", ""]))
        #expect(NotificationAnswer(encoded: Array(ready.prefix(4))) == nil)
    }

    @Test("unknown values are rejected")
    func unknown() {
        var bytes = BusRequest.show(token: 7, NotificationText(summary: "s", body: "b")).encoded
        bytes[9] = 3
        #expect(BusRequest(encoded: bytes) == nil)
        // Invalid booleans, and more buttons than follow.
        for (place, byte) in [(10, 2), (11, 255), (12, 1)] as [(Int, UInt8)] {
            bytes = BusRequest.show(token: 7, NotificationText(summary: "s", body: "b")).encoded
            bytes[place] = byte
            #expect(BusRequest(encoded: bytes) == nil)
        }
        for kind in UInt8(6)...255 { #expect(BusRequest(encoded: [kind] + BusFrame.bytes(1)) == nil) }
        for kind in UInt8(6)...255 {
            #expect(NotificationAnswer(encoded: [kind] + BusFrame.bytes(1)) == nil)
        }
    }
}
