import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Sentences for core errors")
struct SentenceTests {
    private static func error(_ json: String) throws -> APIError { try ErrorTests.error(json) }

    @Test(
        "every table entry is a printable sentence"
    )
    func table() {
        for meaning in APIError.meanings {
            #expect(
                meaning.sentence.first?.isUppercase == true && meaning.sentence.hasSuffix("."),
                "\(meaning.names)")
            #expect(meaning.sentence.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && !meaning.names.isEmpty)
            #expect(APIError(path: meaning.names).chatError.sentence == meaning.sentence)
            #expect(APIError(path: meaning.names).chatError.code == meaning.code)
            // The same name nested in other errors, with others in between.
            let deep = ["errorOfLater"] + meaning.names.flatMap { [$0, "x"] }
            #expect(APIError(path: deep).chatError.sentence == meaning.sentence, "\(meaning.names)")
        }
    }

    @Test("exact names precede general names")
    func order() throws {
        #expect(APIError(path: ["XFTP", "AUTH"]).chatError.code == .file(.expired))
        #expect(APIError(path: ["AUTH", "XFTP"]).chatError.code == .internalError)
        #expect(APIError(path: ["BROKER", "TIMEOUT"]).chatError.code == .file(.timedOut))
        #expect(APIError(path: ["BROKER", "X"]).chatError.code == .file(.unreachable))
        #expect(APIError(path: ["error", "fileNotFound"]).chatError.code == .noSuchFile)
        #expect(
            APIError(path: ["error", "fileNotFound"]).chatError.sentence
                != APIError(path: ["errorStore", "fileNotFound"]).chatError.sentence)
        #expect(try Self.error(ErrorTests.store("chatItemNotFoundByFileId")).chatError.code == .noSuchFile)
    }

    @Test("an unknown error shows its innermost name")
    func unknown() throws {
        func sentence(_ path: [String]) -> String { APIError(path: path).chatError.sentence }
        #expect(sentence([]) == "The SimpleX core refused: no reason was given.")
        #expect(sentence(["error", "somethingNew"]) == "The SimpleX core refused: somethingNew.")
        for (name, isWord) in [
            ("a-b", true), (String(repeating: "n", count: 64), true),
            (String(repeating: "n", count: 65), false), ("a b", false),
            ("a\u{1B}[2J", false), ("ä", false), ("/home/ann", false), ("12", false),
        ] {
            #expect(sentence(["error", name]) == "The SimpleX core refused: \(isWord ? name : "error").")
        }
    }

    @Test(
        "four relay names are shown, escaped",
        arguments: [0, 1, 4, 5])
    func relays(count: Int) throws {
        let names = (0..<count).map { "xftp://a@r\($0).example\u{1B}\u{202E} " }
        let sentence = APIError(path: ["fileNotApproved"], unknownRelays: names).chatError.sentence
        for number in 0..<count { #expect(sentence.contains("r\(number).example") == (number < 4)) }
        #expect(sentence.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        #expect(sentence.contains("'chatfs approve' lets it through.") == (count > 0))
        let long = APIError(path: ["fileNotApproved"], unknownRelays: [String(repeating: "r", count: 5000)])
            .chatError.sentence
        #expect(
            long.contains(String(repeating: "r", count: 200))
                && !long.contains(String(repeating: "r", count: 201)))
    }

    @Test("a blocked file shows its reason")
    func blocked() throws {
        for (info, said) in [
            (#","blockInfo":{"reason":"spam"}"#, ": spam."),
            (#","blockInfo":{"reason":{"type":"content"}}"#, ": content."),
            (#","blockInfo":{}"#, "."), ("", "."), (#","blockInfo":{"reason":"a\u001b b"}"#, ": ab."),
        ] {
            let error = try Self.error(
                ErrorTests.agent(#"{"type":"XFTP","xftpErr":{"type":"BLOCKED"\#(info)}}"#))
            #expect(error.chatError.sentence == "The relay has blocked this file" + said)
            #expect(error.fileProblem.kind == .blocked)
        }
    }

    @Test(
        "words in the text decide the kind",
        arguments: [
            ("FILE NOT_APPROVED", FileProblem.Kind.notApproved), ("XFTP DIGEST", .damaged),
            ("CRYPTO", .damaged), ("QUOTA", .relayFull),
            ("TIMEOUT", .timedOut), ("BROKER NETWORK", .unreachable),
            ("write: No space left on device", .noSpace), ("no idea", .other),
            ("network", .other), ("QUOTA after TIMEOUT", .relayFull),
        ])
    func words(text: String, kind: FileProblem.Kind) throws {
        let message = JSONText.string(text)
        #expect(try Self.error(#"{"type":"other","message":\#(message)}"#).fileProblem.kind == kind)
        #expect(APIError(path: ["fileSend"], message: text).fileProblem.kind == kind)
        #expect(APIError(path: ["other", text]).fileProblem.kind == kind)
        // Exact knowledge is not replaced by a guess.
        #expect(APIError(path: ["XFTP", "AUTH"], message: text).fileProblem.kind == .expired)
        #expect(APIError(path: ["fileSize"], message: text).fileProblem.kind == .tooLarge)
    }

    @Test("nested errors are searched to a limit")
    func depth() throws {
        func nested(_ count: Int) -> String {
            (0..<count).reversed().reduce(#"{"type":"AUTH"}"#) { #"{"type":"t\#($1)","agentError":\#($0)}"# }
        }
        #expect(try Self.error(nested(3)).path == ["t0", "t1", "t2", "AUTH"])
        #expect(try Self.error(nested(7)).path.last == "AUTH")
        #expect(try Self.error(nested(8)).path == (0..<8).map { "t\($0)" })
        // Among several inner errors the first in search order matters.
        #expect(
            try Self.error(#"{"type":"a","smpErr":{"type":"c"},"xftpErr":{"type":"b"}}"#).path == ["a", "b"])
        #expect(
            try Self.error(#"{"type":"a","message":"outer","agentError":{"type":"b","message":"inner"}}"#)
                .message == "outer")
    }

    @Test(
        "own errors map to chat errors",
        arguments: [
            (OfficialCoreError.Code.notUnderstood, ChatErrorCode.internalError, false),
            (.cancelled, .internalError, true),
            (.closed, .internalError, false), (.interrupted, .internalError, true),
            (.invalidCommand, .invalidCommand, false),
            (.disconnected, .file(.unreachable), false), (.broken, .file(.unreachable), true),
            (.timeout, .file(.timedOut), true),
            (.notInstalled, .storage, false), (.system, .storage, false), (.database, .storage, false),
            (.encryptedDatabase, .storage, false),
            (.inUse, .profileInUse, false), (.noProfile, .noSuchProfile, false),
            (.refused, .internalError, false),
        ])
    func own(code: OfficialCoreError.Code, meaning: ChatErrorCode, leavesDoubt: Bool) {
        let error = OfficialCoreError(code, "It is so.")
        #expect(error.chatError.code == meaning && error.chatError.sentence == "It is so.")
        #expect(error.leavesDoubt == leavesDoubt)
        let refused = OfficialCoreError(refusal: APIError(path: ["contactNotReady"]))
        #expect(
            refused.chatError.code == .sendingRefused
                && refused.sentence == "This contact is not connected yet." && !refused.leavesDoubt)
    }
}
