import Base
import ChatCore
import FoundationEssentials
import Testing

@testable import Desktop

/// Parsing of lines from any client.
@Suite("Requests on the control socket")
struct ControlLineTests {
    private static func line(_ request: some ControlRequest) throws -> [UInt8] {
        Array(try JSONEncoder().encode(ControlCall(id: 7, request: request)))
    }

    /// Returns the method of a line with valid parameters.
    private static func kind(_ bytes: [UInt8]) -> ControlMethod? {
        let head = ControlChannel.decoded(ControlHead.self, from: bytes)
        guard head?.id == 7, let method = head?.method.flatMap(ControlMethod.init) else { return nil }
        func hasParameters<Request: ControlRequest>(_ type: Request.Type) -> Bool {
            ControlChannel.decoded(type, from: bytes)?.method == method
        }
        let isValid =
            switch method {
            case .listChats, .getSyncStatus, .getMetrics, .suspend, .resume:
                hasParameters(BareRequest<DoneAnswer>.self)
            case .listItems: hasParameters(ItemsRequest.self)
            case .getItem: hasParameters(ItemRequest.self)
            case .subscribe: hasParameters(SubscribeRequest.self)
            case .hydrate, .dehydrate, .pin, .unpin, .free, .cancel, .retry: hasParameters(EntryRequest.self)
            case .mute, .unmute, .markRead: hasParameters(ChatRequest.self)
            case .sendText: hasParameters(ChatTextRequest.self)
            case .keep: hasParameters(ChatKeepRequest.self)
            case .upload: hasParameters(UploadRequest.self)
            case .approve: hasParameters(ApprovalRequest.self)
            case .sendingTerms: hasParameters(SendingInquiry.self)
            case .sendFile: hasParameters(FileRequest.self)
            case .say: hasParameters(TextRequest.self)
            case .cache: hasParameters(CacheRequest.self)
            case .chats: hasParameters(ChatManagementRequest.self)
            case .transfer: hasParameters(StandaloneRequest.self)
            case .rules: hasParameters(KeepRequest.self)
            case .links: hasParameters(LinkRequest.self)
            case .contacts: hasParameters(ContactRequest.self)
            case .freeFiles: hasParameters(FreeRequest.self)
            case .deleteFiles: hasParameters(DeleteRequest.self)
            }
        return isValid ? method : nil
    }

    /// A message with a staged file.
    static let message = ComposedMessage(
        id: "m1", fileName: "a.txt", size: 5,
        source: FileSourceLocation(
            path: "/staging/x",
            arguments: FileArguments(
                key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24))),
        content: MessageContent(kind: .file, text: "hello"))
    private static let request = FileRequest(message, to: "bob")

    @Test("every request is recognised")
    func kinds() throws {
        #expect(Self.kind(try Self.line(SendingInquiry(chat: "bob"))) == .sendingTerms)
        #expect(Self.kind(try Self.line(Self.request)) == .sendFile)
        #expect(Self.kind(try Self.line(CacheRequest(.pin, entry: 7))) == .cache)
        #expect(
            Self.kind(try Self.line(ChatManagementRequest(.rename, .contact, chat: "a", name: "b")))
                == .chats)
        #expect(Self.kind(try Self.line(StandaloneRequest.upload("/x"))) == .transfer)
        #expect(Self.kind(try Self.line(KeepRequest(.show))) == .rules)
        #expect(Self.kind(try Self.line(LinkRequest(.add, link: "l"))) == .links)
        #expect(Self.kind(try Self.line(ContactRequest.accept("l"))) == .contacts)
        #expect(Self.kind(try Self.line(FreeRequest([FileID(1)], lastCopies: true))) == .freeFiles)
        #expect(Self.kind(try Self.line(DeleteRequest(.find, chat: "bob", file: "a.txt"))) == .deleteFiles)
        #expect(Self.kind(try Self.line(DeleteRequest(.carryOut, items: [ItemID(1)]))) == .deleteFiles)
        #expect(Self.kind(try Self.line(TextRequest(text: "hi", message: "m", chat: "bob"))) == .say)
        #expect(Self.kind(try Self.line(BareRequest<StatusAnswer>(method: .getSyncStatus))) == .getSyncStatus)
        #expect(Self.kind(try Self.line(ItemsRequest(chat: "bob", count: 5))) == .listItems)
        #expect(Self.kind(try Self.line(ItemRequest(path: "a/b"))) == .getItem)
        for what in [nil, "status"] {
            #expect(Self.kind(try Self.line(SubscribeRequest(what: what))) == .subscribe)
        }
        #expect(Self.kind(try Self.line(ChatRequest(method: .markRead, chat: "bob"))) == .markRead)
        #expect(Self.kind(try Self.line(ChatTextRequest(chat: "bob", text: "hi"))) == .sendText)
        #expect(Self.kind(try Self.line(ChatKeepRequest(chat: "bob", what: "all"))) == .keep)
        #expect(Self.kind(try Self.line(UploadRequest(chat: "bob", source: "/x"))) == .upload)
        #expect(Self.kind(try Self.line(ApprovalRequest(relays: ["xftp://a"]))) == .approve)
        #expect(Self.kind(try Self.line(EntryRequest(method: .pin, path: "a/b"))) == .pin)
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
        for (method, members) in [
            ("cache", #""action":"format""#), ("cache", #""action":"pin","entry":-1"#),
            ("cache", #""action":"pin","entry":"7""#), ("chats", #""action":"burn","kind":"contact""#),
            ("transfer", #""action":"steal""#), ("rules", #""action":null"#),
            ("contacts", #""action":"marry""#), ("links", #""action":"list","before":1.5"#),
            ("free_files", #""files":[1,"2"],"lastCopies":false"#), ("free_files", #""files":[1]"#),
            ("say", #""text":"x""#), ("sending_terms", #""chat":7"#), ("send_file", #""chat":"bob""#),
            ("format", #""action":"show""#), ("get_item", #""path":5"#), ("get_item", #""hash":true"#),
            ("subscribe", #""what":["status"]"#),
            ("pin", #""path":[]"#), ("free", #""path":"a/b","last":1"#), ("retry", #""chat":"bob""#),
            ("mute", #""path":"a/b""#), ("send_text", #""chat":"bob","text":1"#), ("keep", #""what":"all""#),
            ("upload", #""chat":"bob","source":[]"#), ("approve", #""relays":"xftp://a""#),
            ("list_items", #""chat":"bob","count":"5""#), ("list_items", #""chat":"bob","states":"remote""#),
        ] {
            let line = #"{"id":7,"method":"\#(method)",\#(members)}"#
            #expect(Self.kind(Array(line.utf8)) == nil, "\(line)")
        }
        #expect(Self.kind(Array("{}".utf8)) == nil)
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
            let again = FileRequest(message, to: "bob").composedMessage(stagingFolder: "/own")
            #expect(again?.content.kind == kind)
        }
        var text = Self.message
        text.content = MessageContent(kind: .text, text: "")
        #expect(FileRequest(text, to: "bob").composedMessage(stagingFolder: "/own") == nil)
    }

    static let damages: [(String, @Sendable (inout FileRequest) -> Void)] = [
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
        let request = TextRequest(text: "hi", message: String(repeating: "m", count: length), chat: "bob")
        #expect((request.composed != nil) == isText)
    }
}
