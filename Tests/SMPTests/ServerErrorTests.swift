import Base
import Testing

@testable import SMP

/// The meaning of a server's errors. A wrong one makes a client retry for ever or drop a message.
@Suite struct ServerErrorTests {
    private static let all: [(error: ServerError, text: String, isTemporary: Bool)] =
        [
            (.authorization, "AUTH", false), (.block, "BLOCK", false), (.session, "SESSION", true),
            (.quota, "QUOTA", true), (.noMessage, "NO_MSG", false), (.largeMessage, "LARGE_MSG", false),
            (.expired, "EXPIRED", false), (.cryptography, "CRYPTO", false), (.service, "SERVICE", false),
            (.internalError, "INTERNAL", true), (.store, "STORE", true),
            (.blocked(reason: "reason=spam"), "BLOCKED reason=spam", false),
            (.blocked(reason: ""), "BLOCKED ", false),
            (.proxy("NO_SESSION"), "PROXY NO_SESSION", true), (.other("LATER 1"), "LATER 1", false),
        ] + ServerError.Command.allCases.map { (.command($0), "CMD \($0.rawValue)", false) }

    @Test(arguments: all.indices) func errorsSurviveARoundTripAndTellWhetherToRetry(row: Int) {
        let (error, text, isTemporary) = Self.all[row]
        #expect(error.text == text && ServerError(Array(text.utf8)) == error)
        #expect(error.isTemporary == isTemporary)
        #expect(SMPError(error).code == .server(error))
    }

    @Test func errorsHaveASentence() {
        let sentences: [(ServerError, String)] = [
            (.authorization, "The messaging server does not know this queue, or not this key."),
            (.quota, "The contact's queue is full; it takes more when the contact has been online."),
            (.blocked(reason: "x"), "The messaging server has blocked this queue (x)."),
            (.noMessage, "The messaging server refused: NO_MSG."),
            (.store, "The messaging server refused: STORE."),
            (.command(.syntax), "The messaging server refused: CMD SYNTAX."),
            (.proxy("BROKER TIMEOUT"), "The messaging server refused: PROXY BROKER TIMEOUT."),
        ]
        for (error, sentence) in sentences { #expect(SMPError(error).sentence == sentence) }
    }

    @Test func extraParametersMakeAnUnknownError() {
        #expect(ServerError(Array("AUTH x".utf8)) == .other("AUTH x"))
        #expect(ServerError(Array("CMD DANCING".utf8)) == .other("CMD DANCING"))
        #expect(ServerError(Array("CMD".utf8)) == .other("CMD") && ServerError([]) == .other(""))
        #expect(ServerError(Array("BLOCKED".utf8)) == .blocked(reason: ""))
        #expect(ServerError(Array("auth".utf8)) == .other("auth"))
    }
}
