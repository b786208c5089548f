import Base
import Cryptography
import JSON
import TestSupport
import Testing

@testable import RemoteControl

@Suite struct CommandTests {
    private static let allowed = [
        "/user", "/users", "/version", "/network", "/_servers 1",
        #"/_get chats 1 pcc=off count=1000 {"type":"filters","favorite":false,"unread":false}"#,
        "/_get chat @4 count=100", "/_get chat #4 before=17 count=100", "/_get chat *1 after=17 count=5",
        "/_get chat #4(_support) count=5", "/_get chat #4(_support:17) before=3 count=5",
        "/_get chat @4 around=17 count=5", "/_get items count=50", "/_contacts 1", "/_groups 1",
        "/_get code @3", "/freceive 7", "/freceive 7 approved_relays=on", "/freceive 7 encrypt=on",
        "/freceive 7 approved_relays=on encrypt=off", "/_set_file_to_receive 7", "/fcancel 9",
        #"/_send @2 json [{"fileSource":{"filePath":"a b_1.bin"},"msgContent":{"type":"file","text":""},"mentions":{}}]"#,
        #"/_send #2 json [{"msgContent":{"type":"text","text":"/_stop"},"mentions":{}}]"#,
        #"/_create *1 json [{"msgContent":{"type":"text","text":"x"}}]"#,
    ]
    private static let asked = [
        "/_delete item @2 5,6 broadcast", "/_delete item *1 5 internal", "/_read chat items #2 7",
    ]
    private static let refused = [
        "", "/", "user", "/user ", " /user", "/User", "/users x", "/_stop", "/_start", "/q", "/quit",
        "/sql chat SELECT 1", "/sql agent SELECT 1", "/_db export {}", "/_files_folder /tmp",
        "/_temp_folder /",
        "/network socks=on", "/_network {}", "/_servers", "/_servers 1 {}",
        "/_user 1", "/_delete @2 full notify=on", "/_clear chat @2", "/d bob",
        "/_read chat @2", "/list remote ctrls", "/stop remote ctrl", "/connect remote ctrl x",
        "/_app suspend 1",
        "/set device name x", "/store remote file 1 x", "/_get chats 1", "/_get chats 1 pcc=off count=",
        #"/_get chats 1 pcc=off count=1 {"type":"search","search":"x"}"#, "/_get chat 4 count=1",
        "/_get chat @4  count=1", "/_get chat @4 count=1 x", "/_get chat @4 count=-1",
        "/_get chat !4 count=1", "/_get chat @4(_support) count=1", "/_get chat #(_support) count=1",
        "/_get chat #4(_support:) count=1", "/_get chat #4(_support:x) count=1",
        "/_get chat #4(_other) count=1", "/_get chat #4(_support:1)x count=1",
        #"/_send #2(_support) json [{"msgContent":{"type":"text","text":"x"}}]"#,
        "/freceive 7 /etc/passwd", "/freceive 7 encrypt=on path", "/freceive x", "/fcancel 1 2",
        "/f @bob /etc/passwd", "/img @bob /etc/passwd", "/_upload 1 /etc/passwd", "/user\n/_stop", "/user\0",
        "/_send @2 json []", "/_send @2 json {}", "/_send @2 json x", "/_send *2 json [{}]",
        "/_send @2 live=on json [{}]", "/_send @2 text hello",
        #"/_send @2 json [{"fileSource":{"filePath":"/etc/passwd"},"msgContent":{}}]"#,
        #"/_send @2 json [{"fileSource":{"filePath":"../chat.db"},"msgContent":{}}]"#,
        #"/_send @2 json [{"fileSource":{"filePath":".."},"msgContent":{}}]"#,
        #"/_send @2 json [{"fileSource":{"filePath":"a"},"fileSource":{"filePath":"/b"},"msgContent":{}}]"#,
        #"/_send @2 json [{"fileSource":{"filePath":"a","filePath":"/b"},"msgContent":{}}]"#,
        #"/_send @2 json [{"file\u0053ource":{"filePath":"/b"},"msgContent":{}}]"#,
        #"/_send @2 json [{"filePath":"a","msgContent":{}}]"#,
        #"/_send @2 json [{"fileSource":"/etc/passwd","msgContent":{}}]"#,
        #"/_send @2 json [{"msgContent":{}}] ttl=1"#, "/_create @1 json [{}]",
        "/_delete item @2  broadcast", "/_delete item @2 5, broadcast", "/_delete item @2 5 all",
    ]

    @Test(arguments: allowed)
    func commandsOfTheTableCanBeMade(text: String) throws {
        #expect(try PhoneCommand(text).text == text)
    }

    @Test(arguments: asked)
    func somethingThatChangesThePhoneIsAskedForByName(text: String) throws {
        #expect(throws: RemoteControlError.self) { try PhoneCommand(text) }
        #expect(try PhoneCommand(text, isAsked: true).text == text)
    }

    @Test(arguments: refused)
    func everythingElseCannotBeMade(text: String) {
        #expect(throws: RemoteControlError.self) { try PhoneCommand(text, isAsked: true) }
    }

    @Test func everyRowHasAnExample() throws {
        for row in PhoneCommand.table {
            #expect((Self.allowed + Self.asked).contains { $0.hasPrefix(row.name) }, "\(row.name)")
        }
    }

    @Test func requestsMatchTheDocumentation() throws {
        func text(_ request: PhoneRequest) throws -> String {
            String(decoding: try request.json(), as: UTF8.self)
        }
        #expect(
            try text(.command(PhoneCommand("/user"), retry: 0))
                == #"{"type":"send","command":"/user","retryNumber":0}"#)
        #expect(try text(.nextEvent(.seconds(10))) == #"{"type":"recv","wait":10000000}"#)
        #expect(try text(.nextEvent(.seconds(99))) == #"{"type":"recv","wait":30000000}"#)
        #expect(
            try text(.storeFile(name: "a.bin", size: 3, digest: [255, 254]))
                == #"{"type":"storeFile","fileName":"a.bin","fileSize":3,"fileDigest":"__4="}"#)
        let file = PhoneFile(
            user: 1, file: 2, isSent: false, path: "pic.bin",
            arguments: FileArguments(key: [1], nonce: [2]))
        #expect(
            try text(.fetchFile(file))
                == #"{"type":"getFile","file":{"userId":1,"fileId":2,"sent":false,"fileSource":{"filePath":"pic.bin","cryptoArgs":{"fileKey":"AQ==","fileNonce":"Ag=="}}}}"#
        )
    }

    @Test(arguments: [
        "", ".", "..", "/etc/passwd", "../evil", "a/b", "a\nb", String(repeating: "a", count: 256),
    ])
    func filesAreStoredUnderCleanNamesOnly(name: String) {
        #expect(throws: RemoteControlError.self) {
            try PhoneRequest.storeFile(name: name, size: 1, digest: []).json()
        }
    }
}

@Suite struct PhoneAnswerTests {
    @Test func encodingsOfIPhonesAreConverted() throws {
        let pairs = try #require(JSONValue.parse(VectorValue.bytes("owsf", in: "xrcp")))
        #expect(pairs.elements.count == 10)
        for pair in pairs.elements {
            let (swift, tagged) = (try #require(pair["swift"]), try #require(pair["tagged"]))
            let made = try #require(OneFieldObjects.tagged(Array(swift.source)).flatMap(JSONValue.parse))
            #expect(Self.sorted(made) == Self.sorted(tagged))
            // The common form is unchanged.
            let again = try #require(OneFieldObjects.tagged(Array(tagged.source)).flatMap(JSONValue.parse))
            #expect(Self.sorted(again) == Self.sorted(tagged))
        }
    }

    /// A text that is equal for objects with equal members.
    private static func sorted(_ value: JSONValue) -> String {
        if value.isObject {
            let members = value.members.map { "\($0.name):\(sorted($0.value))" }.sorted()
            return "{\(members.joined(separator: ","))}"
        }
        guard value.source.first == UInt8(ascii: "[") else {
            return String(decoding: value.source, as: UTF8.self)
        }
        return "[\(value.elements.map(sorted).joined(separator: ","))]"
    }

    @Test func failuresOfThePhoneAreKnown() throws {
        func failure(_ inside: String) throws -> PhoneFailure? {
            let text = #"{"type":"protocolError","remoteProcotolError":\#(inside)}"#
            guard case .failure(let failure) = try PhoneAnswer(Array(text.utf8)) else { return nil }
            return failure
        }
        #expect(
            try failure(#"{"type":"pRERemoteControl","rcError":{"type":"ctrlAuth"}}"#) == .notAuthentic)
        #expect(try failure(#"{"type":"pRESessionCode"}"#) == .notAuthentic)
        #expect(try failure(#"{"type":"invalidJSON","invalidJSON":"x"}"#) == .unknownRequest)
        #expect(try failure(#"{"type":"manySkippedIds","data":401}"#) == .lostRequests)
        #expect(try failure(#"{"type":"pREDuplicateId"}"#) == .lostRequests)
        #expect(try failure(#"{"type":"exception","someException":"/home/x does not exist"}"#) == .file)
        let full = "/home/x: hPutBuf: resource exhausted (No space left on device)"
        #expect(try failure(#"{"type":"exception","someException":"\#(full)"}"#) == .noSpace)
        #expect(try failure(#"{"type":"fileDigest"}"#) == .damagedFile)
        #expect(try failure(#"{"_owsf":true,"noFile":{}}"#) == .damagedFile)
        #expect(try failure(#"{"type":"new"}"#) == .other)
    }

    @Test(arguments: ["", "{}", "[]", #"{"type":"file","fileSize":-1,"fileDigest":""}"#, #"{"type":"new"}"#])
    func otherAnswersAreRefused(text: String) {
        #expect(throws: RemoteControlError.self) { try PhoneAnswer(Array(text.utf8)) }
    }

    @Test func eventsComeOneByOne() throws {
        guard
            case .event(let event?) = try PhoneAnswer(
                Array(
                    #"{"type":"chatEvent","chatEvent":{"result":{"type":"newChatItems"}}}"#.utf8))
        else {
            Issue.record("no event")
            return
        }
        #expect(event.type == "newChatItems")
        guard
            case .failedEvent = try PhoneAnswer(
                Array(
                    #"{"type":"chatEvent","chatEvent":{"error":{"type":"error"}}}"#.utf8))
        else {
            Issue.record("no error")
            return
        }
    }
}
