import Base
import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix
import Store
import TestSupport
import Testing

@testable import Unlocking

/// The cause of an error decides the message and whether to retry.
@Suite("Errors of unlocking")
struct ErrorTableTests {
    @Test(
        "of a file of keys",
        arguments: [
            (.wrongSecret, .wrongSecret, .errorNotADatabase(.wrongKey)),
            (.noSuchWay, .wrongSecret, .errorNotADatabase(.wrongKey)),
            (.mistypedCode, .wrongSecret, .errorNotADatabase(.wrongKey)),
            (.unsuitableSecret, .wrongSecret, .errorNotADatabase(.wrongKey)),
            (.busy, .busy, .unknown), (.file, .file, .unknown), (.memory, .file, .unknown),
            (.notKeySlots, .keys, .errorNotADatabase(.damaged)),
            (.damaged, .keys, .errorNotADatabase(.damaged)),
            (.newerVersion, .keys, .errorMigration), (.slots, .keys, .errorNotADatabase(.damaged)),
            (.missing, .keys, .errorNotADatabase(.damaged)), (.exists, .keys, .errorNotADatabase(.damaged)),
        ] as [(KeySlotsErrorCode, UnlockingErrorCode, OpeningResult.Kind)])
    func keySlots(beneath: KeySlotsErrorCode, code: UnlockingErrorCode, kind: OpeningResult.Kind) {
        let cause = KeySlotsError(beneath, "A sentence.")
        let error = UnlockingError(cause)
        #expect(error.code == code && error.sentence == "A sentence.")
        #expect((error.cause as? KeySlotsError)?.code == beneath)
        #expect(OpeningResult(error).kind == kind && OpeningResult(error).sentence == "A sentence.")
        #expect(error.needsSomebody == (code == .wrongSecret))
    }

    @Test(
        "of a database",
        arguments: [
            (.diskFull, .errorSQL), (.busy, .errorSQL), (.noMemory, .errorSQL), (.tooManyFiles, .errorSQL),
            (.damaged, .errorNotADatabase(.damaged)), (.damagedPage, .errorNotADatabase(.damaged)),
            (.notADatabase, .errorNotADatabase(.noDatabase)), (.encrypted, .errorNotADatabase(.noDatabase)),
            (.notEncrypted, .errorNotADatabase(.noDatabase)), (.wrongKey, .errorNotADatabase(.wrongKey)),
            (.wrongVersion, .errorMigration), (.constraint, .errorSQL), (.notAllowed, .errorSQL),
            (.inputOutput, .errorSQL), (.invalidStatement, .errorSQL),
        ] as [(StoreError.Code, OpeningResult.Kind)])
    func databases(code: StoreError.Code, kind: OpeningResult.Kind) {
        let cause = StoreError(code, "A sentence.")
        #expect(OpeningResult(cause).kind == kind)
        let error = UnlockingError(cause)
        #expect(error.code == (code == .diskFull ? .diskFull : .database))
        #expect(OpeningResult(error).kind == (code == .diskFull ? .unknown : kind))
        #expect(!error.needsSomebody)
    }

    @Test("a full disk is found in every cause")
    func system() {
        for code in [ENOSPC, EDQUOT, EFBIG] {
            let cause = SystemError(code: code, operation: "write the keys")
            #expect(UnlockingError(cause).code == .diskFull)
            #expect(UnlockingError(KeySlotsError(.file, cause.sentence, cause: cause)).code == .diskFull)
        }
        for code in [EIO, EACCES, EMFILE] {
            let cause = SystemError(code: code, operation: "write the keys")
            #expect(UnlockingError(cause).code == .file && UnlockingError(cause).sentence == cause.sentence)
            #expect(UnlockingError(KeySlotsError(.file, cause.sentence, cause: cause)).code == .file)
        }
    }

    @Test("foreign errors are mapped by their causes")
    func beneath() {
        enum Code: Hashable { case outer }
        let damaged = StoreError(.damaged, "Damaged.")
        let once = CodedError(Code.outer, "Outer.", cause: damaged)
        let twice = CodedError(Code.outer, "Outermost.", cause: once)
        #expect(OpeningResult(twice).kind == .errorNotADatabase(.damaged))
        #expect(OpeningResult(twice).sentence == "Outermost.")
        #expect(OpeningResult(CodedError(Code.outer, "Alone.")).kind == .unknown)
        #expect(OpeningResult(UnlockingError(.database, "No cause.")).kind == .errorSQL)
        #expect(OpeningResult(UnlockingError(.keys, "No cause.")).kind == .errorNotADatabase(.damaged))
        for code in [UnlockingErrorCode.busy, .diskFull, .file] {
            #expect(OpeningResult(UnlockingError(code, "a")).kind == .unknown)
        }
        #expect(OpeningResult.ok(unlockedBy: nil).kind == .ok)
        #expect(
            OpeningResult.ok(unlockedBy: nil).sentence != OpeningResult.ok(unlockedBy: .passphrase).sentence)
    }
}

@Suite("Credentials")
struct CredentialsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func secrets() -> Result<[UnlockingSecret], UnlockingError> {
        Result { () throws(UnlockingError) -> [UnlockingSecret] in
            guard let credentials = Credentials(folder: folder.path) else { return [] }
            return try credentials.secrets()
        }
    }

    @Test("none, one, the other and both, the key first")
    func present() throws {
        #expect(try secrets().get().isEmpty)
        try folder.write(Array("other.key".utf8), to: "other.key")
        #expect(Credentials(folder: folder.path) == nil)
        try folder.write(Array("words\n".utf8), to: "chatfs.passphrase")
        #expect(try secrets().get().map(\.kind) == [.passphrase])
        try folder.write([UInt8](0..<32), to: "chatfs.key")
        #expect(try secrets().get().map(\.kind) == [.key, .passphrase])
        unlink(folder.path("chatfs.passphrase"))
        #expect(try secrets().get().map(\.kind) == [.key])
    }

    @Test(
        "invalid credentials have errors",
        arguments: [
            ("chatfs.key", 0), ("chatfs.key", 31), ("chatfs.key", 33), ("chatfs.passphrase", 0),
            ("chatfs.passphrase", 1026),
        ])
    func unsuitable(name: String, count: Int) throws {
        try folder.write([UInt8](repeating: 65, count: count), to: name)
        guard case .failure(let error) = secrets() else {
            Issue.record("\(name) of \(count) bytes is taken")
            return
        }
        #expect(error.code == .wrongSecret)
        #expect((error.cause as? KeySlotsError)?.code == .unsuitableSecret)
    }

    @Test("a folder in place of a credential is a system error")
    func folders() throws {
        _ = try folder.makeFolder("chatfs.key")
        guard case .failure(let error) = secrets() else {
            Issue.record("a folder is taken for a key")
            return
        }
        #expect(error.code == .file)
    }
}
