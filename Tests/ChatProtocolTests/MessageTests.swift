import Base
import JSON
import Testing

@testable import ChatProtocol

@Suite("Messages")
struct MessageTests {
    static func read(_ text: String) -> ChatMessage? { ChatMessage(decoding: Array(text.utf8)) }

    @Test("every message round-trips")
    func writing() throws {
        for event in try Sample.events() {
            let message = ChatMessage(event, id: try Sample.id())
            #expect(Self.read(message.json) == message, "\(event.name)")
        }
    }

    @Test("official message decodes")
    func official() throws {
        let text = #"""
            {"v":"1-16","msgId":"ek9kZWNINEZnZkJlVWJ5Wg==","event":"x.msg.new",
             "params":{"content":{"text":"pong 0","type":"text"}}}
            """#
        let message = try #require(Self.read(text))
        #expect(message.versions == 1...16)
        #expect(message.id?.text == "ek9kZWNINEZnZkJlVWJ5Wg==")
        #expect(message.event == .message(NewMessage(ChatContent(.text, text: "pong 0"))))
        #expect(message.event.notifies && message.event.wantsReceipt)
    }

    @Test(
        "irrelevant events are recognised",
        arguments: ["x.info.probe", "x.call.inv"])
    func unknownEvents(_ name: String) throws {
        let message = try #require(Self.read(#"{"event":"\#(name)","params":{"probe":"AAAA"}}"#))
        #expect(message.event == .unknown(name: name))
        #expect(message.versions == nil && message.id == nil)
        #expect(!message.event.notifies && !message.event.wantsReceipt)
    }

    @Test(
        "malformed messages are nil",
        arguments: [
            "", "[]", "1", "{}", #"{"event":1}"#, #"{"event":"x.msg.new"}"#,
            #"{"event":"x.msg.new","params":{"content":{"text":"no type"}}}"#,
            #"{"event":"x.msg.update","params":{"content":{"type":"text","text":"of which?"}}}"#,
            #"{"event":"x.info","params":{"profile":{"displayName":"","fullName":""}}}"#,
            #"{"event":"x.msg.file.descr","params":{"msgId":"AAAA","fileDescr":{"fileDescrText":"x"}}}"#,
            #"{"event":"x.msg.del","params":{"msgId":""}}"#, #"{"event":"x.msg.del","params":{"msgId":"A"}}"#,
            #"{"event":"x.grp.mem.del","params":{}}"#,
        ])
    func malformed(_ text: String) { #expect(Self.read(text) == nil) }

    @Test(
        "version ranges decode", arguments: [("1-16", 1...16 as ClosedRange<UInt16>), ("7", 7...7)])
    func versions(_ text: String, _ range: ClosedRange<UInt16>) {
        #expect(Self.read(#"{"v":"\#(text)","event":"x.ok","params":{}}"#)?.versions == range)
    }

    @Test(
        "malformed versions are nil", arguments: ["16-1", "", "-", "1-", "a", "1-2-3", "99999", "1-99999999"])
    func noVersions(_ text: String) throws {
        let message = try #require(Self.read(#"{"v":"\#(text)","event":"x.ok","params":{}}"#))
        #expect(message.versions == nil)
    }

    @Test("nested forwarding is rejected")
    func nested() throws {
        func forwarded(_ inner: String) -> String {
            #"{"event":"x.grp.msg.forward","params":{"memberId":"AAAA","msgTs":"2026-01-01T00:00:00Z","msg":"#
                + inner + "}}"
        }
        let plain = #"{"event":"x.grp.leave","params":{}}"#
        #expect(Self.read(forwarded(plain)) != nil)
        #expect(Self.read(forwarded(forwarded(plain))) == nil)
        var deep = plain
        for _ in 0..<40 { deep = forwarded(deep) }
        #expect(Self.read(deep) == nil)
    }

    @Test("ids have 1 to 255 bytes")
    func ids() {
        #expect(SharedMessageID(bytes: []) == nil)
        #expect(SharedMessageID(bytes: [UInt8](repeating: 1, count: 256)) == nil)
        #expect(
            SharedMessageID(text: Base64URL.encode([UInt8](repeating: 1, count: 255)))?.bytes.count == 255)
        #expect(SharedMessageID(text: String(repeating: "A", count: 100_000)) == nil)
        #expect(SharedMessageID(text: "not base64!") == nil)
        #expect(SharedMessageID(from: SystemRandomSource()) != SharedMessageID(from: SystemRandomSource()))
    }

    @Test("logged text omits ids and members")
    func secrecy() throws {
        #expect("\(try Sample.id())" == "message")
        #expect("\(try Sample.member())" == "member")
    }
}

@Suite("Message content")
struct ContentTests {
    static func content(_ json: String) throws -> ChatContent? {
        ChatContent(try #require(JSONValue.parse(Array(json.utf8))))
    }

    @Test("unknown content keeps its text")
    func unknown() throws {
        let content = try #require(try Self.content(#"{"type":"poll","text":"tea?","options":[1,2]}"#))
        #expect(content == ChatContent(.unknown(type: "poll"), text: "tea?"))
        #expect(try Self.content(content.json) == ChatContent(.text, text: "tea?"))
    }

    @Test("contact card is its text")
    func card() throws {
        let content = try Self.content(#"{"type":"chat","text":"Bob","chatLink":{"type":"contact"}}"#)
        #expect(content == ChatContent(.chat, text: "Bob"))
    }

    @Test(
        "invalid previews are dropped",
        arguments: [
            #""https://example.org/a.jpg""#, "1", "null", #""data:text/html,x""#,
            "\"data:image/jpg;base64," + String(repeating: "A", count: 14_000) + "\"",
        ])
    func previews(_ image: String) throws {
        let content = try Self.content(#"{"type":"image","text":"x","image":\#(image)}"#)
        #expect(content == ChatContent(.image(preview: ""), text: "x"))
    }

    @Test("duration is clamped to a day")
    func durations() throws {
        #expect(
            try Self.content(#"{"type":"voice","text":"","duration":-4}"#) == ChatContent(.voice(seconds: 0)))
        let long = try Self.content(#"{"type":"voice","text":"","duration":9000000000000000000}"#)
        #expect(long == ChatContent(.voice(seconds: 86_400)))
    }

    @Test("old transports are unsupported, unsized files invalid")
    func oldFiles() throws {
        func file(_ json: String) throws -> FileInvitation? {
            FileInvitation(try #require(JSONValue.parse(Array(json.utf8))))
        }
        let old = try file(#"{"fileName":"a","fileSize":5,"fileConnReq":"simplex:/invitation#/?"}"#)
        #expect(old?.way == .unsupported)
        #expect(try file(#"{"fileName":"a","fileSize":5,"fileInline":"later"}"#)?.way == .unsupported)
        #expect(try file(#"{"fileName":"a"}"#) == nil)
        #expect(try file(#"{"fileName":"a","fileSize":-5,"fileInline":"sent"}"#)?.size == 0)
    }

    @Test("invalid file keeps its message")
    func brokenFile() throws {
        let text = #"{"event":"x.msg.new","params":{"content":{"type":"file","text":"x"},"file":{}}}"#
        let message = try #require(ChatMessage(decoding: Array(text.utf8)))
        #expect(message.event == .message(NewMessage(ChatContent(.file, text: "x"))))
    }

    @Test("later forwarded message decodes")
    func forwarded() throws {
        let text = #"""
            {"event":"x.msg.new","params":{"content":{"type":"text","text":"x"},"forward":{"from":"y"}}}
            """#
        guard case .message(let message) = ChatMessage(decoding: Array(text.utf8))?.event else {
            Issue.record("this is a message")
            return
        }
        #expect(message.isForwarded)
    }
}
