import Glibc
import Posix
import TestSupport
import Testing

/// A kill during a change of the unlock ways leaves the old way until the new one works.
@Suite struct KilledKeyTests {
    private let stage: KeyStage
    private let killed: KilledCommand

    init() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        killed = try await KilledCommand(in: stage.folder)
        self.stage = stage
    }

    /// Repeats a command from the same start, killed one step later each time, until it completes.
    private func atEachStep(
        _ words: String, handing texts: [String] = [], _ look: (Shell.Outcome) async throws -> Void
    ) async throws {
        let keys = try stage.folder.read("data/keys")
        let kept = try stage.kept().map { ($0, try stage.folder.read("keyring/" + $0)) }
        for step in 1...100 {
            try stage.folder.write(keys, to: "data/keys")
            for name in try stage.kept() { unlink(stage.folder.path("keyring/" + name)) }
            for (name, bytes) in kept { try stage.folder.write(bytes, to: "keyring/" + name) }
            var mortal = stage
            mortal.environment.merge(killed.environment(endingAt: step)) { $1 }
            let outcome = try await mortal.chatfs(words, handing: texts)
            try await look(outcome)
            if outcome.succeeded { return }
            #expect([.signal(SIGKILL), .code(128 + SIGKILL)].contains(outcome.ending), "\(outcome.errors)")
        }
        Issue.record("it has no end")
    }

    private func unlocks(_ words: String = "", handing texts: [String] = []) async throws -> Bool {
        try await stage.chatfs("key test " + words, handing: texts).succeeded
    }

    @Test func onlyWayInKeyringKeepsItsKey() async throws {
        #expect(try await stage.chatfs("profile create alice").succeeded)
        let before = (try stage.folder.read("data/keys"), try stage.kept())
        #expect(try await stage.chatfs("key remember").succeeded)
        let after = (try stage.folder.read("data/keys"), try stage.kept())
        #expect(after.0 == before.0 && after.1 == before.1)
        #expect(try await unlocks())
    }

    @Test func killedRememberingIsAtomic() async throws {
        try await stage.make(passphrase: "a")
        try await atEachStep("key remember --passphrase-fd 3", handing: ["a"]) {
            (outcome: Shell.Outcome) async throws in
            #expect(try await unlocks("--passphrase-fd 3", handing: ["a"]))
            if outcome.succeeded { #expect(try await unlocks()) }
        }
        // If the keyring's key opens the data, no step replaces it by a wrong one.
        try await atEachStep("key remember --passphrase-fd 3", handing: ["a"]) {
            (_: Shell.Outcome) async throws in
            #expect(try await unlocks())
            #expect(try await unlocks("--passphrase-fd 3", handing: ["a"]))
        }
        // A useless key, as in a newly created keyring, is replaced.
        let name = try #require(try stage.kept().first)
        try stage.folder.write([UInt8](repeating: UInt8(ascii: "0"), count: 64), to: "keyring/" + name)
        #expect(try await !unlocks())
        try await atEachStep("key remember --passphrase-fd 3", handing: ["a"]) {
            (outcome: Shell.Outcome) async throws in
            #expect(try await unlocks("--passphrase-fd 3", handing: ["a"]))
            if outcome.succeeded { #expect(try await unlocks()) }
        }
        #expect(try await stage.chatfs("key status --json").output.count(of: "\"kind\":\"keyring\"") == 1)
    }

    @Test func recoveryCodeIsValidUntilNextIsPrinted() async throws {
        try await stage.make(passphrase: "a")
        let first = try await stage.chatfs("key recovery --passphrase-fd 3", handing: ["a"]).output
        try await atEachStep("key recovery --passphrase-fd 3", handing: ["a"]) {
            (outcome: Shell.Outcome) async throws in
            let isPrinted = outcome.output.hasSuffix("\n")
            var opens: [Bool] = []
            for code in [first] + (isPrinted ? [outcome.output] : []) {
                opens.append(try await unlocks("--recovery-code-fd 3", handing: [code]))
            }
            if isPrinted {
                #expect(opens[1])
                if outcome.succeeded { #expect(!opens[0]) }
            } else {
                #expect(opens[0])
            }
        }
    }

    @Test func unprintedRecoveryCodeReplacesNone() async throws {
        try await stage.make(passphrase: "a")
        let first = try await stage.chatfs("key recovery --passphrase-fd 3", handing: ["a"]).output
        let lost = try await stage.chatfs("key recovery --passphrase-fd 3 >/dev/full", handing: ["a"])
        #expect(lost.ending == .code(1) && lost.errors.contains("standard output"), "\(lost.errors)")
        #expect(try await unlocks("--recovery-code-fd 3", handing: [first]))
        let status = try await stage.chatfs("key status --json")
        #expect(status.output.count(of: "recovery-code") == 1, "\(status.output)")
    }

    @Test func killedPassphraseChangeIsAtomic() async throws {
        try await stage.make(passphrase: "old")
        try await atEachStep(
            "key change --passphrase-fd 3 --new-passphrase-fd 4", handing: ["old", "new"]
        ) { (outcome: Shell.Outcome) async throws in
            let old = try await unlocks("--passphrase-fd 3", handing: ["old"])
            let new = try await unlocks("--passphrase-fd 3", handing: ["new"])
            #expect(old != new && (new || !outcome.succeeded))
        }
    }
}

extension String {
    /// Number of occurrences of a text.
    fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
