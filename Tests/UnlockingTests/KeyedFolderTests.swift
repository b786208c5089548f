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

/// Creating and unlocking a data directory.
@Suite struct KeyedFolderTests {
    private let folder: TemporaryFolder
    private var keyed: KeyedFolder { KeyedFolder(path: folder.path, database: "chatfs.db") }

    init() throws { folder = try TemporaryFolder() }

    private func made(_ ways: Ways) throws -> SecretBytes {
        try #require(try keyed.make(with: ways) {}).dataKey
    }

    private func code(_ body: () throws -> Void) -> UnlockingErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? UnlockingError)?.code
        }
    }

    @Test func anUnreadableFolderIsNotNew() throws {
        try #require(symlink("loop", keyed.path + "/loop") == 0)
        let unreachable = KeyedFolder(path: keyed.path + "/loop", database: "chatfs.db")
        #expect(code { _ = try unreachable.condition } == .file)
        let missing = KeyedFolder(path: keyed.path + "/none/below", database: "chatfs.db")
        #expect(try missing.condition == .new)
    }

    @Test func encryptedDataWithoutKeysIsAnError() throws {
        let key = try made(Ways(named: .passphrase("correct horse")))
        let path = folder.path("chatfs.db")
        try Database(path: path, migrations: [], key: key).close()
        #expect(unlink(folder.path("keys")) == 0)
        let error = #expect(throws: UnlockingError.self) { _ = try keyed.condition }
        #expect(error?.code == .keys && error?.sentence.contains("keys is missing") == true)
        #expect(code { _ = try keyed.slots() } == .keys)
        #expect(unlink(path) == 0)
        try Database(path: path, migrations: []).close()
        #expect(try keyed.condition == .plain)
    }

    @Test func onlyTheGivenPassphraseOpensIt() throws {
        #expect(try keyed.condition == .new)
        let key = try made(Ways(named: .passphrase("correct horse")))
        #expect(try keyed.condition == .encrypted)
        #expect(try keyed.unlock(with: Ways(named: .passphrase("correct horse"))).isEqual(to: key))
        #expect(code { _ = try keyed.unlock(with: Ways(named: .passphrase("battery"))) } == .wrongSecret)
        #expect(code { _ = try keyed.unlock(with: Ways(named: .someKey)) } == .wrongSecret)
        #expect(code { _ = try keyed.unlock(with: Ways()) } == .noWay)
    }

    @Test func withoutAWayNothingIsCreated() throws {
        var isPrepared = false
        let error = #expect(throws: UnlockingError.self) {
            try keyed.make(with: Ways()) { isPrepared = true }
        }
        #expect(error?.code == .noWay && error?.sentence.contains("--no-encryption") == true)
        #expect(!isPrepared)
        #expect(try folder.names().isEmpty)
        var plain = Ways()
        plain.makesPlain = true
        #expect(try keyed.make(with: plain) {} == nil)
    }

    @Test func credentialUnlocksWithoutPrompt() throws {
        let credentials = try TemporaryFolder()
        #expect(Credentials(folder: credentials.path) == nil)
        try credentials.write([UInt8](repeating: 9, count: 32), to: "chatfs.key")
        var ways = Ways()
        ways.credentials = Credentials(folder: credentials.path)
        let key = try made(ways)
        #expect(try keyed.slots().slots.map(\.kind) == [.key])
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
        // A wrong one leads to the next way, and is reported without one.
        try credentials.write([UInt8](repeating: 8, count: 32), to: "chatfs.key")
        #expect(code { _ = try keyed.unlock(with: ways) } == .noWay)
        try keyed.add(.passphrase("a"), for: key)
        ways.ask = { _ in SecretBytes(Array("a".utf8)) }
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
        try credentials.write([1, 2, 3], to: "chatfs.key")
        #expect(code { _ = try keyed.unlock(with: ways) } == .wrongSecret)
    }

    @Test func unlockErrorsNeedUserWhenRetryingCannotHelp() {
        let ofKeyrings: [(KeyringErrorCode, Bool)] = [
            (.locked, true), (.absent, false), (.silent, false), (.refused, false), (.process, false),
        ]
        for (code, needsSomebody) in ofKeyrings {
            let error = UnlockingError(KeyringError(code, "Because."))
            #expect(error.needsSomebody == needsSomebody, "\(code)")
            // As reported when no way is left.
            let last = UnlockingError(.keyring, "It could not be unlocked.", cause: error)
            #expect(last.needsSomebody == needsSomebody, "\(code)")
        }
        let others: [(UnlockingErrorCode, Bool)] = [
            (.noWay, true), (.wrongSecret, true), (.busy, false), (.diskFull, false), (.file, false),
        ]
        for (code, needsSomebody) in others {
            #expect(UnlockingError(code, "Because.").needsSomebody == needsSomebody, "\(code)")
        }
    }

    @Test func aMissingKeyringLeavesOtherWays() throws {
        let kept = DataKey.random()
        let key = try made(Ways(named: .keyringKey(kept)))
        #expect(try keyed.slots().slots.map(\.kind) == [.keyring])
        let error = #expect(throws: UnlockingError.self) { try keyed.unlock(with: Ways()) }
        #expect(error?.code == .keyring && error?.needsSomebody == false)
        #expect(error?.sentence.contains("There is no keyring") == true, "\(error?.sentence ?? "")")
        // A prompt is used if possible.
        try keyed.add(.passphrase("a"), for: key)
        var ways = Ways()
        ways.ask = { _ in SecretBytes(Array("a".utf8)) }
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
    }

    @Test func thePromptPermitsTwoMistakes() throws {
        let answers = Lock(
            ["good", "good", "bad", "worse", "good", "bad", "bad", "bad"].map { Array($0.utf8) })
        let asked = Lock<[Ways.Passphrase]>([])
        var ways = Ways()
        ways.ask = { question in
            asked.withLock { $0.append(question) }
            return answers.withLock { $0.isEmpty ? nil : SecretBytes($0.removeFirst()) }
        }
        let key = try made(ways)
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
        #expect(asked.withLock { $0 } == [.new, .again, .present, .presentOnceMore, .presentOnceMore])
        #expect(code { _ = try keyed.unlock(with: ways) } == .wrongSecret)
        // No further answer.
        #expect(code { _ = try keyed.unlock(with: ways) } == .noWay)
    }

    @Test func recoveryCodeIsTakenAtThePassphrasePrompt() throws {
        let key = try made(Ways(named: .passphrase(SecretBytes(Array("good".utf8)))))
        let printed = Lock("")
        try keyed.newRecoveryCode(for: key) { code in printed.withLock { $0 = code.text } }
        let typed = Lock(
            [printed.withLock { $0 }.lowercased(), "7K3QF-0B9XW-", "good"].map { Array($0.utf8) })
        var ways = Ways()
        ways.ask = { _ in typed.withLock { $0.isEmpty ? nil : SecretBytes($0.removeFirst()) } }
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
        // Half a code is a wrong passphrase.
        #expect(try keyed.unlock(with: ways).isEqual(to: key))
        let code = Array(printed.withLock { $0 }.utf8)
        typed.withLock { $0 = [code] }
        guard case .recoveryCode? = try keyed.askedSecret({ ways.ask?($0) }) else {
            Issue.record("the code was not taken")
            return
        }
    }

    @Test func differentPassphrasesCreateNothing() throws {
        let answers = Lock(["one", "other"].map { Array($0.utf8) })
        var ways = Ways()
        ways.ask = { _ in answers.withLock { $0.isEmpty ? nil : SecretBytes($0.removeFirst()) } }
        #expect(code { _ = try keyed.make(with: ways) {} } == .unconfirmed)
        #expect(try keyed.condition == .new)
    }

    @Test func oneOfManyConcurrentCreatorsSucceeds() async throws {
        let keyed = keyed
        let keys = try await withThrowingTaskGroup(of: SecretBytes.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        try keyed.make(with: Ways(named: .someKey)) {}?.dataKey ?? SecretBytes([])
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(keys.allSatisfy { $0.isEqual(to: keys[0]) })
    }

    @Test func changingAPassphraseKeepsTheDataKey() throws {
        let key = try made(Ways(named: .passphrase("old")))
        let recovery = try newCode(for: key)
        try keyed.add(.passphrase("new"), for: key, replacing: [.passphrase])
        #expect(code { _ = try keyed.unlock(with: Ways(named: .passphrase("old"))) } == .wrongSecret)
        #expect(try keyed.unlock(with: Ways(named: .passphrase("new"))).isEqual(to: key))
        let typed = try RecoveryCode(recovery.text.lowercased())
        #expect(try keyed.unlock(with: Ways(named: .recoveryCode(typed))).isEqual(to: key))
        // A newer code replaces it.
        _ = try newCode(for: key)
        #expect(code { _ = try keyed.unlock(with: Ways(named: .recoveryCode(typed))) } == .wrongSecret)
        #expect(try keyed.slots().slots.map(\.kind) == [.passphrase, .recoveryCode])
    }

    @Test func anOldCopyOfTheKeysOpensWithTheOldPassphrase() throws {
        let key = try made(Ways(named: .passphrase("old")))
        let copy = try folder.read("keys")
        try keyed.add(.passphrase("new"), for: key, replacing: [.passphrase])
        #expect(code { _ = try keyed.unlock(with: Ways(named: .passphrase("old"))) } == .wrongSecret)
        try folder.write(copy, to: "keys")
        #expect(try keyed.unlock(with: Ways(named: .passphrase("old"))).isEqual(to: key))
    }

    private func newCode(for key: SecretBytes) throws -> RecoveryCode {
        var shown: RecoveryCode?
        try keyed.newRecoveryCode(for: key) { shown = $0 }
        return try #require(shown)
    }

    private func opens(_ code: RecoveryCode?) throws -> Bool {
        let code = try #require(code)
        return (try? keyed.unlock(with: Ways(named: .recoveryCode(code)))) != nil
    }

    @Test func anEarlierCodeOpensUntilTheNewOneIsHandedOver() throws {
        struct Full: Error {}
        let key = try made(Ways(named: .someKey))
        let first = try newCode(for: key)
        var unseen: RecoveryCode?
        #expect(throws: Full.self) {
            try keyed.newRecoveryCode(for: key) { code in
                #expect(try opens(first) && opens(code))
                unseen = code
                throw Full()
            }
        }
        #expect(try opens(first) && !opens(unseen))
        // Of two concurrent codes the later one stays, in any order of display.
        var inner: RecoveryCode?
        var outer: RecoveryCode?
        try keyed.newRecoveryCode(for: key) { code in
            outer = code
            inner = try newCode(for: key)
        }
        #expect(try opens(inner) && !opens(outer) && !opens(first))
    }

    @Test func anUnclaimedCodeIsRemovedAtTheNextOpening() throws {
        struct Full: Error {}
        let key = try made(Ways(named: .someKey))
        var unseen: RecoveryCode?
        var busy: OpenFile?
        #expect(throws: Full.self) {
            try keyed.newRecoveryCode(for: key) { code in
                unseen = code
                busy = try OpenFile(keyed.path, flags: O_RDONLY)
                #expect(try busy?.tryLock() == true)
                throw Full()
            }
        }
        #expect(try keyed.slots().slots.map(\.kind) == [.key, .recoveryCode])
        // Also while it still cannot be removed.
        #expect(try keyed.unlock(with: Ways(named: .someKey)).isEqual(to: key))
        withExtendedLifetime(busy) {}
        busy = nil
        #expect(try !opens(unseen))
        #expect(try keyed.slots().slots.map(\.kind) == [.key])
    }

    @Test func anUnclaimedCodeIsRemovedAfterAFullDisk() async throws {
        let key = try made(Ways(named: .someKey))
        let path = keyed.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            struct Full: Error {}
            signal(SIGXFSZ, SIG_IGN)
            let keyed = KeyedFolder(path: path, database: "chatfs.db")
            let key = try keyed.unlock(with: Ways(named: .someKey))
            #expect(throws: Full.self) {
                try keyed.newRecoveryCode(for: key) { _ in
                    // No byte of any file can be written from here on.
                    var limit = rlimit(rlim_cur: 0, rlim_max: rlim_t.max)
                    try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
                    throw Full()
                }
            }
        }
        #expect(try keyed.slots().slots.map(\.kind) == [.key, .recoveryCode])
        #expect(try keyed.unlock(with: Ways(named: .someKey)).isEqual(to: key))
        #expect(try keyed.slots().slots.map(\.kind) == [.key])
        let left = try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY))
        #expect(!left.contains { $0.hasPrefix("keys.unconfirmed") })
    }

    /// A process that is killed before the code reaches a user.
    @Test(arguments: [true, false])
    func aKilledProcessLeavesNoUnclaimedCode(isRefused: Bool) async throws {
        let key = try made(Ways(named: .someKey))
        let path = keyed.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, isRefused = isRefused as Bool] in
            let keyed = KeyedFolder(path: path, database: "chatfs.db")
            let key = try keyed.unlock(with: Ways(named: .someKey))
            if isRefused {
                // Noted as refused, and not removed yet.
                var slots = try KeySlotsFile(path: path + "/keys").read()
                let slot = try slots.add(.recoveryCode(.random()), for: key, at: Timestamp(seconds: 1))
                let mark = try UnconfirmedSlot(of: slot, in: path)
                try mark.noteShown()
                try KeySlotsFile(path: path + "/keys").change { stored in stored = slots }
                try mark.noteUnseen()
                kill(getpid(), SIGKILL)
            }
            try keyed.newRecoveryCode(for: key) { _ in kill(getpid(), SIGKILL) }
        }
        #expect(try keyed.slots().slots.map(\.kind) == [.key, .recoveryCode])
        #expect(try keyed.unlock(with: Ways(named: .someKey)).isEqual(to: key))
        // Killed during the handover, when a user may have it.
        #expect(try keyed.slots().slots.map(\.kind) == (isRefused ? [.key] : [.key, .recoveryCode]))
        let left = try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY))
        #expect(!left.contains { $0.hasPrefix("keys.unconfirmed") })
        // The next code replaces it.
        let code = try newCode(for: key)
        #expect(try opens(code) && keyed.slots().slots.count == 2)
    }

    /// A process killed before its slot was written leaves a note with a number, which the next slot gets.
    @Test func aPassphraseWithTheNumberOfALostCodeStays() throws {
        let key = try made(Ways(named: .someKey))
        var slots = try keyed.slots()
        let never = try slots.add(.recoveryCode(.random()), for: key, at: Timestamp(seconds: 1))
        do { withExtendedLifetime(try UnconfirmedSlot(of: never, in: keyed.path)) {} }
        try keyed.add(.passphrase("mine"), for: key)
        #expect(try keyed.slots().slots.last?.number == never.number)
        #expect(try keyed.unlock(with: Ways(named: .someKey)).isEqual(to: key))
        #expect(try keyed.slots().slots.map(\.kind) == [.key, .passphrase])
        #expect(try keyed.unlock(with: Ways(named: .passphrase("mine"))).isEqual(to: key))
        let left = try PrivateFolder.names(in: OpenFile(keyed.path, flags: O_RDONLY))
        #expect(!left.contains { $0.hasPrefix("keys.unconfirmed") })
    }

    @Test func theLastWayStays() throws {
        let key = DataKey.random()
        let slots = try KeySlots(
            key, for: .keyringKey(SecretBytes(randomCount: 32)), at: Timestamp(seconds: 1))
        try KeySlotsFile(path: folder.path("keys")).create(slots)
        #expect(code { try keyed.forget(in: nil) } == .keys)
        try keyed.add(.passphrase("a"), for: key)
        try keyed.forget(in: nil)
        #expect(try keyed.slots().slots.map(\.kind) == [.passphrase])
        #expect(code { try keyed.forget(in: nil) } == .keys)
    }
}
