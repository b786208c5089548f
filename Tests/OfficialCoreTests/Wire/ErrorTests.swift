import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Errors of the official core")
struct ErrorTests {
    static func error(_ json: String) throws -> APIError {
        let frame = try #require(APIFrame(Array(#"{"error":\#(json)}"#.utf8)))
        guard case .failure(let error) = frame.content else { throw ChatError(.internalError, "no failure") }
        return error
    }

    static func plain(_ type: String, _ fields: String = "") -> String {
        #"{"type":"error","errorType":{"type":"\#(type)"\#(fields)}}"#
    }

    static func store(_ type: String) -> String {
        #"{"type":"errorStore","storeError":{"type":"\#(type)"}}"#
    }

    static func agent(_ json: String) -> String { #"{"type":"errorAgent","agentError":\#(json)}"# }

    static let codes: [(String, ChatErrorCode)] = [
        (plain("noActiveUser"), .noSuchProfile), (plain("chatNotStarted"), .internalError),
        (plain("chatNotStopped"), .internalError),
        (plain("commandError", #","message":"Failed reading""#), .invalidCommand),
        (plain("differentActiveUser", #","commandUserId":1,"activeUserId":2"#), .noSuchProfile),
        (plain("contactNotReady", #","contact":{"contactId":1}"#), .sendingRefused),
        (plain("contactNotActive"), .sendingRefused), (plain("contactDisabled"), .sendingRefused),
        (plain("groupUserRole", #","requiredRole":"member""#), .sendingRefused),
        (plain("fileNotFound", #","message":"/x""#), .noSuchFile),
        (plain("fileSize", #","filePath":"/x""#), .tooLarge),
        (plain("fileAlreadyReceiving", #","message":"x""#), .alreadyReceiving),
        (plain("fileCancelled", #","message":"x""#), .file(.cancelledBySender)),
        (plain("fileCancel", #","fileId":1,"message":"x""#), .invalidCommand),
        (plain("fileAlreadyExists", #","filePath":"/x""#), .nameTaken),
        (plain("fileRead", #","filePath":"/x","message":"m""#), .storage),
        (plain("fileWrite", #","filePath":"/x","message":"m""#), .storage),
        (
            plain(
                "fileSend",
                #","fileId":1,"agentError":{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"QUOTA"}}"#),
            .file(.relayFull)
        ),
        (plain("fileRcvChunk", #","message":"m""#), .file(.damaged)),
        (plain("fileInternal", #","message":"m""#), .internalError),
        (plain("fileImageType"), .invalidCommand), (plain("fileImageSize"), .tooLarge),
        (plain("fileNotReceived", #","fileId":1"#), .noSuchFile),
        (plain("fileNotApproved", #","fileId":1,"unknownServers":["xftp://a@b"]"#), .file(.notApproved)),
        (plain("fallbackToSMPProhibited", #","fileId":1"#), .file(.other)),
        (plain("inlineFileProhibited", #","fileId":1"#), .file(.other)),
        (plain("invalidFileDescription", #","message":"m""#), .file(.damaged)),
        (plain("invalidChatItemDelete"), .invalidCommand),
        (plain("internalError", #","message":"m""#), .internalError),
        (plain("exception", #","message":"m""#), .internalError),
        (plain("commandError", #","message":"feature not allowed Files""#), .sendingRefused),
        (store("chatItemNotFound"), .noSuchItem), (store("fileNotFound"), .noSuchFile),
        (store("contactNotFound"), .noSuchChat), (store("groupNotFound"), .noSuchChat),
        (store("rcvFileNotFound"), .noSuchFile), (store("noteFolderNotFound"), .noSuchChat),
        (store("userNotFoundByFileId"), .noSuchFile), (store("largeMsg"), .tooLarge),
        (store("userNotFound"), .noSuchProfile),
        (store("somethingNew"), .storage),
        (#"{"type":"errorDatabase","databaseError":{"type":"errorOpen"}}"#, .storage),
        (agent(#"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"AUTH"}}"#), .file(.expired)),
        (agent(#"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"NO_FILE"}}"#), .file(.neverUploaded)),
        (
            agent(
                #"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"BLOCKED","blockInfo":{"reason":"spam"}}}"#
            ), .file(.blocked)
        ),
        (agent(#"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"DIGEST"}}"#), .file(.damaged)),
        (agent(#"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"TIMEOUT"}}"#), .file(.timedOut)),
        (agent(#"{"type":"FILE","fileErr":{"type":"NOT_APPROVED"}}"#), .file(.notApproved)),
        (agent(#"{"type":"FILE","fileErr":{"type":"SIZE"}}"#), .file(.damaged)),
        (agent(#"{"type":"FILE","fileErr":{"type":"REDIRECT","redirectError":"size"}}"#), .file(.damaged)),
        (agent(#"{"type":"FILE","fileErr":{"type":"FILE_IO","fileIOError":"x"}}"#), .storage),
        (agent(#"{"type":"FILE","fileErr":{"type":"NO_FILE"}}"#), .file(.neverUploaded)),
        (agent(#"{"type":"BROKER","brokerAddress":"b","brokerErr":{"type":"TIMEOUT"}}"#), .file(.timedOut)),
        (
            agent(#"{"type":"BROKER","brokerAddress":"b","brokerErr":{"type":"NETWORK"}}"#),
            .file(.unreachable)
        ),
        (agent(#"{"type":"INTERNAL","internalErr":"x"}"#), .internalError),
        (#"{"type":"invalidJSON","json":"x"}"#, .invalidCommand),
        (#"{"type":"errorOfTheFuture"}"#, .internalError), ("{}", .internalError),
    ]

    @Test("each reported error has its code", arguments: codes.indices)
    func code(_ index: Int) throws {
        let (json, code) = Self.codes[index]
        let error = try Self.error(json).chatError
        #expect(error.code == code, "\(json)")
        #expect(error.sentence.hasSuffix(".") && error.sentence.first?.isUppercase == true)
        #expect(error.sentence.utf8.allSatisfy { $0 >= 0x20 })
    }

    @Test("every row of the table is reachable")
    func shadows() throws {
        for meaning in APIError.meanings {
            let first = try #require(APIError.meanings.first { $0.fits(meaning.names) })
            #expect(first.names == meaning.names)
        }
    }

    @Test(
        "file errors have their kind",
        arguments: [
            (#"{"type":"auth"}"#, FileProblem.Kind.expired), (#"{"type":"noFile"}"#, .neverUploaded),
            (#"{"type":"blocked","server":"s","blockInfo":{"reason":{"type":"content"}}}"#, .blocked),
            (#"{"type":"relay","srvError":{"type":"host"}}"#, .unreachable),
            (#"{"type":"other","fileError":"FILE NOT_APPROVED"}"#, .notApproved),
            (#"{"type":"other","fileError":"INTERNAL file"}"#, .other), (#""auth""#, .expired),
        ])
    func fileErrors(_ json: String, _ kind: FileProblem.Kind) throws {
        let status = JSONValue.parse(Array(#"{"type":"rcvError","rcvFileError":\#(json)}"#.utf8))
        guard case .rcvError(let problem) = FileStatus(api: try #require(status)) else {
            Issue.record("another state")
            return
        }
        #expect(problem.kind == kind)
    }

    @Test("relay names are escaped in sentences")
    func relays() throws {
        let json = Self.plain(
            "fileNotApproved", #","unknownServers":["xftp://abc@relay.example:443","evil\u001b[2J\n"]"#)
        let error = try Self.error(json)
        #expect(error.unknownRelays.count == 2)
        #expect(error.chatError.sentence.contains("xftp://abc@relay.example:443"))
        #expect(error.chatError.sentence.utf8.allSatisfy { $0 >= 0x20 })
    }

    @Test(
        "database errors have their code",
        arguments: [
            (#"{"type":"ok"}"#, OfficialCoreError.Code?.none),
            (#"{"type":"errorNotADatabase","dbFile":"x"}"#, .database),
            (
                #"{"type":"errorMigration","migrationError":{"type":"downgrade","downMigrations":["x"]}}"#,
                .database
            ),
            (#"{"type":"errorMigration","migrationError":{"type":"upgrade"}}"#, .database),
            (
                #"{"type":"errorMigration","migrationError":{"type":"migrationError","mtrError":{"type":"different"}}}"#,
                .database
            ),
            (#"{"type":"errorSQL","dbFile":"x","migrationSQLError":"y"}"#, .database), ("", .notUnderstood),
            (#"{"type":"invalidConfirmation"}"#, .notUnderstood), (#"{"type":"later"}"#, .database),
        ])
    func migration(_ json: String, _ code: OfficialCoreError.Code?) {
        #expect(MigrationResult.error(in: Array(json.utf8))?.code == code)
    }
}
