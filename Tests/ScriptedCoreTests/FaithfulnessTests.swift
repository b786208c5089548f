import Glibc
import JSON
import Posix
import Testing

@testable import ScriptedCore

/// Compares the members of the scripted core's JSON with those of the official program: invented ones would mislead
/// tests of the client.
@Suite struct FaithfulnessTests {
    /// Every member of every object by its parent, as `meta.itemId number`; of responses by their type.
    private static let recorded: Set<String> = {
        var places: Set<String> = []
        for line in try! recordings() {
            guard let frame = JSONValue.parse(line)?["frame"], let response = frame["resp"],
                let type = response.type
            else { continue }
            collect(response, type, into: &places)
        }
        return places
    }()

    /// About operators of preset servers, which the recorded user did not use (simplex-chat `ServerOperator`).
    private static let unrecorded: Set = ["userServers.operator object", "operator.enabled truth value"]

    /// The recordings of the tests of the official core.
    private static func recordings() throws -> [[UInt8]] {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(2)
        let folder = "/" + parts.joined(separator: "/") + "/OfficialCoreTests/Resources/transcripts/"
        return try ["01-connect", "02-files-encrypt-off", "03-files-encrypt-on", "04-errors-cancel-etc"]
            .flatMap { name in
                try OpenFile(folder + name + ".jsonl", flags: O_RDONLY).readAll(limit: 16 << 20)
                    .split(separator: UInt8(ascii: "\n")).map(Array.init)
            }
    }

    private static func collect(_ value: JSONValue, _ place: String, into places: inout Set<String>) {
        for element in value.elements { collect(element, place, into: &places) }
        for (name, member) in value.members {
            places.insert("\(place).\(name) \(kind(member))")
            collect(member, name, into: &places)
        }
    }

    private static func kind(_ value: JSONValue) -> String {
        if value.isObject { return "object" }
        if value.string != nil { return "text" }
        if value.bool != nil { return "truth value" }
        if value.integer != nil { return "number" }
        if value.isNull { return "null" }
        return "array"
    }

    private static func core() -> ScriptedSimpleX {
        let core = ScriptedSimpleX()
        core.change { state in
            var sent = ScriptedMessage(id: 1, contact: 1, name: "own.txt")
            sent.isSent = true
            sent.status = #"{"type":"sndStored"}"#
            sent.path = "own.txt"
            state.history.append(sent)
            state.history.append(ScriptedMessage(id: 2, contact: 1, name: "theirs.txt"))
            var stored = ScriptedMessage(id: 3, contact: 1, name: "here.txt")
            stored.status = #"{"type":"rcvComplete"}"#
            stored.path = "here.txt"
            stored.cryptoArguments = #"{"fileKey":"a","fileNonce":"b"}"#
            state.history.append(stored)
            state.relays = ["xftp://x@localhost"]
        }
        return core
    }

    private func expectFaithful(_ text: String?, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let response = try #require(
            text.flatMap { JSONValue.parse(Array($0.utf8)) }, sourceLocation: sourceLocation)
        let type = try #require(response.type, sourceLocation: sourceLocation)
        var places: Set<String> = []
        Self.collect(response, type, into: &places)
        #expect(places.count > 1, sourceLocation: sourceLocation)
        let made = places.subtracting(Self.recorded).subtracting(Self.unrecorded)
        #expect(made == [], sourceLocation: sourceLocation)
    }

    @Test(
        "answers",
        arguments: [
            "/user", "/_servers 1", "/_get chats 1 pcc=off", "/_get chat @1 count=10", "/freceive 1002",
            "/fcancel 1001", "/fcancel 1002", "/_delete item @1 2 internal",
            #"/_send @1 json [{"filePath":"a.txt","msgContent":{"type":"file","text":""}}]"#,
            #"/_create *1 json [{"filePath":"a.txt","msgContent":{"type":"file","text":""}}]"#,
            "/_upload 1 a.txt", "/_download 1 link a.txt", "/_get chat @1 before=77 count=1",
        ])
    func answers(command: String) throws { try expectFaithful(Self.core().answer(command)) }

    @Test("events")
    func events() throws {
        let core = Self.core()
        let told = ToldEvents()
        core.connect(tells: { told.note($0) }, breaks: {})
        core.tellNew(ScriptedMessage(id: 4, contact: 1, name: "new.txt"))
        core.complete(4, path: "new.txt", cryptoArguments: #"{"fileKey":"a","fileNonce":"b"}"#)
        core.tellGone(4)
        #expect(told.all.count == 3)
        for event in told.all { try expectFaithful(event) }
    }
}
