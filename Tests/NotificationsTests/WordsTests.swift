import Base
import ChatCore
import TestSupport
import Testing

@testable import MessageBus
@testable import Notifications

@Suite("Notification texts")
struct WordsTests {
    private static func group(
        _ subject: NotificationSubject, _ files: [NotifiedFile], relays: [String] = [], why: String = "",
        mayRetry: Bool = true, expires: Timestamp? = nil, together: Bool = false
    ) -> NotificationGroup {
        var group = NotificationGroup(
            .init(chat: together ? nil : files.first?.chat, subject: subject), since: .now)
        for file in files {
            group.add(file, relays: relays, why: why, mayRetry: mayRetry, expires: expires)
        }
        return group
    }

    private static func file(
        _ id: Int64, _ name: String = "photo.jpg", chat: String = "Book club", sender: String = "Bob",
        caption: String = ""
    ) -> NotifiedFile {
        NotifiedFile(
            .item(ItemID(id)), in: .group(id), named: chat, name: name, sender: sender, caption: caption)
    }

    private static func text(
        _ group: NotificationGroup, _ preview: NotificationPreview, escaping: Bool = false
    ) -> NotificationText {
        NotificationComposer(preview: preview, escapesMarkup: escaping).text(of: group)
    }

    @Test("each preview limits the arrival's text")
    func arrivals() {
        let one = Self.group(.arrival, [Self.file(1, caption: "Look!")])
        let few = Self.group(.arrival, (1...5).map { Self.file($0, "\($0).jpg") })
        let many = Self.group(
            .arrival, (1...8).map { Self.file($0, chat: "Chat \($0)") }, together: true)
        var said: [String] = []
        for group in [one, few, many] {
            for preview in NotificationPreview.allCases {
                let text = Self.text(group, preview)
                said.append("\(text.summary): \(text.body)")
            }
        }
        #expect(
            said == [
                "Bob sent a file to Book club: photo.jpg\nLook!", "New file in Book club: ",
                "ChatFS: New file",
                "Bob sent 5 files to Book club: 5.jpg, 4.jpg, 3.jpg and 2 more", "5 new files in Book club: ",
                "ChatFS: 5 new files",
                "8 new files in 8 chats: Chat 8, Chat 7, Chat 6, Chat 5, Chat 4 and 3 more",
                "8 new files in 8 chats: Chat 8, Chat 7, Chat 6, Chat 5, Chat 4 and 3 more",
                "ChatFS: 8 new files in 8 chats",
            ])
    }

    @Test("only groups name the sender")
    func sender() {
        let own = Self.text(Self.group(.arrival, [Self.file(1, chat: "Bob")]), .message)
        #expect(own.summary == "Bob sent a file" && own.body == "photo.jpg")
    }

    @Test("each subject states problem, reason and remedy")
    func others() {
        let relay = "xftp://abc@relay.example.org"
        let time = Timestamp(seconds: 1_700_000_000)
        let file = Self.file(1)
        #expect(
            NotificationPreview.allCases.map {
                Self.text(Self.group(.approval, [file], relays: [relay]), $0).body
            }
                == [
                    "photo.jpg waits for your approval: receiving would show your network address to \(relay).",
                    "A file waits for your approval: receiving would show your network address to \(relay).",
                    "A file waits for your approval.",
                ])
        #expect(
            NotificationPreview.allCases.map {
                Self.text(Self.group(.failure, [file], why: "The disk is full"), $0).body
            } == [
                "photo.jpg could not be sent. The disk is full.",
                "A file could not be sent. The disk is full.",
                "A file could not be sent.",
            ])
        #expect(
            NotificationPreview.allCases.map {
                Self.text(Self.group(.expiry, [file], expires: time), $0).body
            }
                == [
                    "photo.jpg expires on the relay soon: at 2023-11-14 22:13 +00:00.",
                    "A file expires on the relay soon: at 2023-11-14 22:13 +00:00.",
                    "A file expires on the relay soon.",
                ])
        let request = RefusedRequest("It is too large.", subject: "film.mp4", chatName: "Alice")
        let refused = NotificationGroup(.init(chat: nil, subject: .refusal, refusal: request), since: .now)
        #expect(
            NotificationPreview.allCases.map {
                let text = Self.text(refused, $0)
                return "\(text.summary) / \(text.body)"
            } == [
                "Refused in Alice / film.mp4: It is too large.", "Refused in Alice / It is too large.",
                "ChatFS refused this / It is too large.",
            ])
    }

    /// Hostile names and captions.
    static let hostile: [String] = [
        "", " ", "\n\n\n", String(repeating: "a", count: 100_000), String(repeating: "👨‍👩‍👧‍👦", count: 5_000),
        "<b>bold</b><img src='file:///etc/passwd'/>", "&amp;&lt;", "a\u{0}b", "\u{1B}[31mred",
        "\u{202E}gpj.exe", "e" + String(repeating: "\u{301}", count: 10_000), "\u{FEFF}\u{200B}\u{00AD}",
        "line\u{2028}break\r\nagain", "../../etc/passwd", "%s%n", "\u{E000}\u{FFFE}", "#secret#",
        "#" + String(repeating: "s", count: 50_000) + "#", String(repeating: "#", count: 50_000),
        String(repeating: "&", count: 10_000),
    ]

    @Test("any names give bounded, unambiguous texts", arguments: hostile)
    func bounds(words: String) throws {
        let file = Self.file(1, words, chat: words, sender: words, caption: words)
        for subject in NotificationSubject.allCases where subject != .refusal {
            for together in [false, true] {
                let group = Self.group(
                    subject, [file, Self.file(2, words, chat: words)], relays: [words], why: words,
                    together: together)
                for preview in NotificationPreview.allCases {
                    for escaping in [false, true] {
                        try Self.hold(Self.text(group, preview, escaping: escaping), escaping: escaping)
                    }
                }
            }
        }
        let request = RefusedRequest(words, subject: words, chatName: words)
        let refused = NotificationGroup(.init(chat: nil, subject: .refusal, refusal: request), since: .now)
        try Self.hold(Self.text(refused, .message, escaping: true), escaping: true)
    }

    /// Properties of every text.
    static func hold(_ text: NotificationText, escaping: Bool) throws {
        #expect(!text.summary.isEmpty && text.summary.utf8.count <= NotificationText.maxSummary)
        #expect(text.body.utf8.count <= NotificationText.maxBody)
        for scalar in (text.summary + text.body).unicodeScalars where scalar != "\n" {
            #expect(scalar.properties.generalCategory != .control && !scalar.properties.isBidiControl)
        }
        #expect(!text.summary.contains("\n"))
        if escaping {
            #expect(!text.body.contains("<") && !text.body.contains(">"))
            let entities = text.body.split(separator: "&", omittingEmptySubsequences: false).dropFirst()
            #expect(
                entities.allSatisfy { $0.hasPrefix("amp;") || $0.hasPrefix("lt;") || $0.hasPrefix("gt;") })
        }
        // It fits into the pipe at once.
        var sent = text
        (sent.buttons, sent.namesRelays) = (["Approve Relays", "Show in Folder", "Mark as Read"], false)
        let frame = try #require(BusFrame.framed(BusRequest.show(token: .max, sent).encoded))
        #expect(BusRequest(encoded: Array(frame[4...])) == .show(token: .max, sent))
    }

    @Test("a relay's warning precedes its approval")
    func warning() {
        let group = Self.group(
            .approval, [Self.file(1)], relays: ["xftp://abc@127.0.0.1"], why: "It is inside.")
        #expect(Self.text(group, .contact).body.hasSuffix(" to xftp://abc@127.0.0.1. It is inside."))
    }

    @Test("secrets are hidden before captions are cut")
    func cut() {
        let caption = String(repeating: "x", count: 230) + " #" + String(repeating: "s", count: 300) + "#"
        let body = Self.text(Self.group(.arrival, [Self.file(1, caption: caption)]), .message).body
        #expect(!body.contains("s…") && !body.contains("ss"))
    }
}
