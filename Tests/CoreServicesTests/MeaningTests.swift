import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import CoreServices

@Suite("Mapping of errors of lower layers")
struct MeaningTests {
    @Test(
        "errors of relays and connections",
        arguments: [
            (.malformedDescription, .damaged), (.damaged, .damaged), (.relay(.authorization), .expired),
            (.relay(.noFile), .neverUploaded), (.relay(.blocked(reason: "spam")), .blocked),
            (.relay(.quota), .relayFull),
            (.relay(.timeout), .timedOut), (.timedOut, .timedOut), (.relay(.block), .unreachable),
            (.relay(.session), .unreachable), (.relay(.handshake), .unreachable),
            (.relay(.size), .unreachable),
            (.relay(.command(.syntax)), .unreachable), (.relay(.digest), .unreachable),
            (.unreachable, .unreachable),
            (.wrongIdentity, .unreachable), (.protocolViolation, .unreachable),
            (.relayNotAllowed, .notApproved),
            (.noRelay, .noRelay), (.tooLarge, .tooLarge), (.source, .other), (.storage, .other),
            (.wrongState, .other),
            (.cancelled, .other),
        ] as [(XFTPErrorCode, FileProblem.Kind)])
    func relays(code: XFTPErrorCode, kind: FileProblem.Kind) { #expect(FileProblem.Kind(code) == kind) }

    @Test(
        "decryption failures are damage, disk errors are not",
        arguments: [
            (nil, ChatErrorCode.file(.damaged)), (ENOSPC, .file(.noSpace)), (EDQUOT, .file(.noSpace)),
            (EIO, .storage),
            (ENOENT, .storage),
        ] as [(Int32?, ChatErrorCode)])
    func cryptography(code: Int32?, meaning: ChatErrorCode) {
        let cause = code.map { SystemError(code: $0, operation: "read") }
        let error = CryptographyError(.file, "It could not be read.", cause: cause)
        let wrapped = ChatError(wrapping: error)
        #expect(wrapped.code == meaning)
        #expect(wrapped.sentence == "It could not be read.")
        #expect(wrapped.cause is CryptographyError)
    }

    @Test("only errors about the file become its problem")
    func rows() {
        #expect(ChatError(.file(.blocked), "x").fileProblemKind == .blocked)
        #expect(ChatError(.file(.noSpace), "x").fileProblemKind == .noSpace)
        for code in [ChatErrorCode.storage, .internalError, .noSuchFile, .tooLarge, .sendingRefused] {
            #expect(ChatError(code, "x").fileProblemKind == .other)
        }
    }

    @Test("a used profile is refused with its process")
    func profiles() throws {
        let folder = try TemporaryFolder()
        func file() throws -> OpenFile { try OpenFile(folder.path("lock"), flags: O_RDWR | O_CREAT) }
        let first = try ProcessLock.takeProfile(file(), mountpoint: "/home/ann/Chats")
        let error = try #require(throws: ChatError.self) {
            try ProcessLock.takeProfile(file(), mountpoint: nil, timeout: .zero)
        }
        #expect(error.code == .profileInUse)
        #expect(error.sentence == "The profile is in use by process \(getpid()), mounted at /home/ann/Chats.")
        // It announces its end; an impatient process is still refused.
        first.finish()
        #expect(throws: ChatError.self) {
            try ProcessLock.takeProfile(file(), mountpoint: nil, timeout: .zero)
        }
        first.release()
        let second = try ProcessLock.takeProfile(file(), mountpoint: nil, timeout: .zero)
        let other = try #require(throws: ChatError.self) {
            try ProcessLock.takeProfile(file(), mountpoint: nil, timeout: .zero)
        }
        #expect(other.sentence == "The profile is in use by process \(getpid()).")
        second.release()
    }
}
