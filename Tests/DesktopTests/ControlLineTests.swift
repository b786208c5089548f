import Base
import ChatCore
import FoundationEssentials
import Testing

@testable import Desktop

/// Parsing of lines from any client.
@Suite("Requests on the control socket")
struct ControlLineTests {
    private static func line(_ message: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder().encode(message))
    }

    private static func kind(_ bytes: [UInt8]) -> String? {
        switch ControlChannel.decoded(ControlLine.self, from: bytes) {
        case .inquire: "inquire"
        case .send: "send"
        case .cache: "cache"
        case .manage: "manage"
        case .transfer: "transfer"
        case .keep: "keep"
        case .link: "link"
        case .contact: "contact"
        case .free: "free"
        case .delete: "delete"
        case .text: "text"
        case nil: nil
        }
    }

    /// A message with a staged file.
    static let message = ComposedMessage(
        id: "m1", fileName: "a.txt", size: 5,
        source: FileSourceLocation(
            path: "/staging/x",
            arguments: FileArguments(
                key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24))),
        content: MessageContent(kind: .file, text: "hello"))
    private static let request = ControlRequest(message, to: "bob")

    @Test("every request is recognised")
    func kinds() throws {
        #expect(Self.kind(try Self.line(SendingInquiry(destination: "bob"))) == "inquire")
        #expect(Self.kind(try Self.line(Self.request)) == "send")
        #expect(Self.kind(try Self.line(CacheRequest(.pin, entry: 7))) == "cache")
        #expect(
            Self.kind(try Self.line(ChatManagementRequest(.rename, .contact, chat: "a", name: "b")))
                == "manage")
        #expect(Self.kind(try Self.line(StandaloneRequest.upload("/x"))) == "transfer")
        #expect(Self.kind(try Self.line(KeepRequest(.show))) == "keep")
        #expect(Self.kind(try Self.line(LinkRequest(.add, link: "l"))) == "link")
        #expect(Self.kind(try Self.line(ContactRequest.accept("l"))) == "contact")
        #expect(Self.kind(try Self.line(FreeRequest([FileID(1)], lastCopies: true))) == "free")
        #expect(Self.kind(try Self.line(DeleteRequest(.find, chat: "bob", file: "a.txt"))) == "delete")
        #expect(Self.kind(try Self.line(DeleteRequest(.carryOut, items: [ItemID(1)]))) == "delete")
        #expect(Self.kind(try Self.line(TextRequest(say: "hi", message: "m", to: "bob"))) == "text")
    }

    @Test("cut lines fail; unknown members are ignored")
    func cuts() throws {
        for line in try [
            Self.line(Self.request), Self.line(KeepRequest(.set, chat: "@1")),
            Self.line(ContactRequest.look(5)), Self.line(CacheRequest(.show)),
        ] {
            for length in 0..<line.count { #expect(Self.kind(Array(line.prefix(length))) == nil) }
            let more = Array("{\"later\":[1,{}],".utf8) + line.dropFirst()
            #expect(Self.kind(more) == Self.kind(line))
        }
    }

    @Test("unknown actions and wrong types are refused")
    func unknown() {
        for line in [
            "{\"action\":\"format\"}", "{\"action\":\"pin\",\"entry\":-1}",
            "{\"action\":\"pin\",\"entry\":\"7\"}",
            "{\"manage\":\"burn\",\"kind\":\"contact\"}", "{\"transfer\":\"steal\"}", "{\"keep\":null}",
            "{\"connecting\":\"marry\"}", "{\"linking\":\"list\",\"before\":1.5}",
            "{\"free\":[1,\"2\"],\"lastCopies\":false}", "{\"free\":[1]}", "{\"say\":\"x\"}", "{}",
            "{\"destination\":7}",
        ] {
            #expect(Self.kind(Array(line.utf8)) == nil, "\(line)")
        }
    }

    @Test("a composed message survives encoding")
    func composed() throws {
        let composed = try #require(Self.request.composedMessage(stagingFolder: "/own"))
        #expect(
            composed.source.path == "/own/x" && composed.source.arguments == Self.message.source.arguments)
        #expect(composed.id == "m1" && composed.fileName == "a.txt" && composed.size == 5)
        #expect(composed.content == Self.message.content && composed.modified == nil)
    }

    @Test("every content kind survives encoding")
    func contents() {
        for kind in [
            .file, .image(preview: "p"), .video(preview: "q", seconds: 7), .voice(seconds: 300),
        ] as [MessageContent.Kind] {
            var message = Self.message
            message.content = MessageContent(kind: kind, text: "")
            let again = ControlRequest(message, to: "bob").composedMessage(stagingFolder: "/own")
            #expect(again?.content.kind == kind)
        }
        var text = Self.message
        text.content = MessageContent(kind: .text, text: "")
        #expect(ControlRequest(text, to: "bob").composedMessage(stagingFolder: "/own") == nil)
    }

    static let damages: [(String, @Sendable (inout ControlRequest) -> Void)] = [
        ("a file elsewhere", { $0.staged = "../x" }), ("no file", { $0.staged = "" }),
        ("the folder", { $0.staged = "." }), ("the one above", { $0.staged = ".." }),
        ("a path", { $0.staged = "a/b" }), ("an end within", { $0.staged = "a\u{0}b" }),
        ("a short key", { $0.key = Base64URL.encode([UInt8](repeating: 1, count: 31)) }),
        ("a long key", { $0.key = Base64URL.encode([UInt8](repeating: 1, count: 33)) }),
        ("no key", { $0.key = "!" }),
        ("a short nonce", { $0.nonce = Base64URL.encode([UInt8](repeating: 1, count: 23)) }),
        ("no nonce", { $0.nonce = "" }), ("another kind", { $0.kind = "text" }),
        ("no kind", { $0.kind = "" }),
        ("a name with a folder", { $0.fileName = "a/b" }), ("no name", { $0.fileName = "" }),
        ("a hidden name", { $0.fileName = ".ssh" }), ("no mark", { $0.message = "" }),
        ("a long mark", { $0.message = String(repeating: "m", count: 65) }),
        ("less than no time", { $0.seconds = -1 }),
        (
            "a preview that is too long",
            { $0.preview = String(repeating: "p", count: FilePolicy.maxPreviewCharacters + 1) }
        ),
    ]

    @Test("invalid messages are rejected")
    func damaged() {
        for (what, damage) in Self.damages {
            var request = Self.request
            damage(&request)
            #expect(request.composedMessage(stagingFolder: "/own") == nil, "\(what)")
        }
        var longest = Self.request
        longest.message = String(repeating: "m", count: 64)
        longest.preview = String(repeating: "p", count: FilePolicy.maxPreviewCharacters)
        #expect(longest.composedMessage(stagingFolder: "/own") != nil)
    }

    @Test("a text's mark has 1 to 64 bytes", arguments: [(0, false), (1, true), (64, true), (65, false)])
    func texts(length: Int, isText: Bool) {
        let request = TextRequest(say: "hi", message: String(repeating: "m", count: length), to: "bob")
        #expect((request.composed != nil) == isText)
    }
}
