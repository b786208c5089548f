import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import KeySlots
import Posix
import Store
import TestSupport
import Testing

@testable import Archive

/// Verification of archives.
@Suite struct ArchiveVerificationTests {
    private let folder: TemporaryFolder
    private let passphrase = SecretBytes(Array("correct horse".utf8))
    private static let cost = Argon2id.Cost(passes: 1, memory: 8 << 10) ?? .usual

    /// Alice with two notes.
    init() async throws {
        folder = try TemporaryFolder()
        let directory = try DataDirectory(folder.path("data"))
        _ = try directory.createProfile("alice")
        let alice = try await EmbeddedCore.open(directory, profile: "alice")
        let notes = try #require(try await alice.chats().first)
        for (name, count) in [("a.bin", 3_000_000), ("b.txt", 5)] {
            let path = alice.stagingFolder + "/" + name
            let arguments = CryptoFile.freshArguments()
            let writer = try CryptoFileWriter(
                file: OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL), arguments: arguments)
            try writer.append(ArchiveStage.bytes(count))
            try writer.finish()
            _ = try await alice.send(
                ComposedMessage(
                    id: name, fileName: name, size: UInt64(count),
                    source: FileSourceLocation(path: path, arguments: arguments),
                    content: MessageContent(kind: .file)), to: notes.reference)
        }
        await alice.shutDown()
    }

    private var files: String { "data/profiles/1/files" }

    /// Returns the path of the stored file with this size.
    private func stored(_ size: Int) throws -> String {
        try #require(
            try folder.names(in: files).first { try folder.read("\(files)/\($0)").count == size + 16 })
    }

    private func flip(_ path: String, at offset: Int) throws {
        let file = try OpenFile(folder.path(path), flags: O_RDWR)
        try file.write(try file.read(count: 1, at: UInt64(offset)).map { $0 ^ 4 }, at: UInt64(offset))
    }

    @discardableResult
    private func export(_ name: String = "a.zip") throws -> [Snapshot.Missing] {
        let snapshot = try Snapshot(
            of: DataDirectory(folder.path("data")), passphrase: passphrase, cost: Self.cost)
        try NewFile.write(to: folder.path(name)) { try snapshot.write(to: $0, program: "tests") { _, _ in } }
        return snapshot.missing
    }

    @Test func leavingsOfKilledVerificationsGo() throws {
        try export()
        let path = folder.path("chatfs-verify-")
        for name in ["killed", "running", "new"] {
            let left = try PrivateFolder(path + name, purpose: "chatfs verify")
            try left.write([1], to: "chatfs.db")
            if name != "new" { _ = try FolderLock(left) }
        }
        let running = try #require(try FolderLock(PrivateFolder(path + "running", purpose: "chatfs verify")))
        _ = try folder.makeFolder("chatfs-verify-foreign")
        try folder.write([1], to: "chatfs-verify-foreign/own")
        _ = try verify(passphrase: passphrase)
        #expect(
            try folder.names().filter { $0.hasPrefix("chatfs-verify-") }
                == ["foreign", "new", "running"].map { "chatfs-verify-\($0)" })
        running.release()
        _ = try verify(passphrase: passphrase)
        #expect(access(path + "running", F_OK) != 0)
    }

    private func verify(
        _ name: String = "a.zip", passphrase: SecretBytes?
    ) throws -> ArchiveVerification.Result {
        let verification = try ArchiveVerification(OpenFile(folder.path(name), flags: O_RDONLY))
        var last: (UInt64, UInt64) = (0, 0)
        let result = try verification.run(passphrase: passphrase, scratch: folder.path("scratch")) {
            #expect($0 >= last.0 && $0 <= $1)
            last = ($0, $1)
        }
        #expect(access(folder.path("scratch"), F_OK) != 0)
        return result
    }

    @Test func intactArchiveHasNoProblems() throws {
        #expect(try export().isEmpty)
        for passphrase in [passphrase, nil] {
            let result = try verify(passphrase: passphrase)
            #expect(result.problems.isEmpty)
            #expect(result.databases >= 1 && result.files >= 3 && result.bytes > 3_000_000)
        }
        #expect(throws: KeySlotsError.self) { try verify(passphrase: SecretBytes([7])) }
    }

    @Test func damagedFileIsReportedByEachCommand() throws {
        let name = try stored(3_000_000)
        try flip("\(files)/\(name)", at: 1_500_000)
        let missing = try export()
        #expect(missing.map(\.path) == ["profiles/1/files/\(name)"])
        #expect(missing.first?.sentence.contains("tag is wrong") == true)
        for passphrase in [passphrase, nil] {
            let problems = try verify(passphrase: passphrase).problems
            #expect(problems.map(\.kind) == [.damaged])
            #expect(problems.first?.path == "profiles/1/files/\(name)")
            #expect(problems.first?.size == 3_000_016)
        }
        let restoration = try Restoration(
            OpenFile(folder.path("a.zip"), flags: O_RDONLY), to: folder.path("again"), passphrase: passphrase)
        let failures = try restoration.run(isSealed: false) { _, _ in }
        #expect(failures.map(\.name.text) == ["profiles/1/files/\(name)"])
        // Its readable part is useful.
        #expect(try folder.read("again/profiles/1/files/\(name)").count == 3_000_016)
    }

    @Test func deletedFileIsMissing() throws {
        let name = try stored(5)
        #expect(unlink(folder.path("\(files)/\(name)")) == 0)
        #expect(try export().map(\.path) == ["profiles/1/files/\(name)"])
        #expect(try verify(passphrase: nil).problems.isEmpty)
        let problems = try verify(passphrase: passphrase).problems
        #expect(problems.map(\.kind) == [.missing] && problems.first?.path == "profiles/1/files/\(name)")
    }

    @Test func changedBytesAreDetected() throws {
        try export()
        let whole = try folder.read("a.zip")
        var random = SystemRandomNumberGenerator()
        // In file contents and in the manifest.
        for _ in 0..<12 {
            let position = Int.random(in: 0..<3_000_000, using: &random)
            var changed = whole
            changed[position] ^= 1
            try folder.write(changed, to: "changed.zip")
            #expect(try !problems("changed.zip", passphrase: nil).isEmpty, "at \(position)")
        }
        try folder.write(Array(whole.prefix(2_000_000)), to: "cut.zip")
        #expect(try problems("cut.zip", passphrase: passphrase) == [.archive])
        try folder.write(Array("no archive".utf8), to: "none.zip")
        #expect(try problems("none.zip", passphrase: passphrase) == [.archive])
    }

    private func problems(
        _ name: String, passphrase: SecretBytes?
    ) throws -> [ArchiveVerification.Problem.Kind] {
        do {
            return try verify(name, passphrase: passphrase).problems.map(\.kind)
        } catch let error as ArchiveError {
            return [try #require(ArchiveVerification.problem(error)).kind]
        }
    }

    /// Rewrites the archive as in `AuthenticatedArchiveTests`.
    private func rewritten(_ script: String) async throws {
        let frame = """
            import sys, zipfile, json, hashlib
            z = zipfile.ZipFile(sys.argv[1]); e = {n: z.read(n) for n in z.namelist()}
            m = json.loads(e["manifest.json"])
            f = max((n for n in e if "/files/" in n), key=lambda n: len(e[n]))
            def say():
                e["manifest.json"] = json.dumps(m, sort_keys=True, separators=(",", ":")).encode()
            def entry(n): return [x for x in m["entries"] if x["name"] == n][0]
            kind = zipfile.ZIP_STORED
            \(script)
            z = zipfile.ZipFile(sys.argv[2], "w", kind)
            for n, b in e.items(): z.writestr(n, b)
            z.close()
            """
        let outcome = try await Shell.run(
            "python3", ["-c", frame] + ["a.zip", "changed.zip"].map(folder.path))
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
    }

    @Test(arguments: [
        "e[f] = b'x' * len(e[f]); entry(f)['sha256'] = hashlib.sha256(e[f]).hexdigest(); say()",
        "entry(f)['damaged'] = False; say()",
        "m['entries'].remove(entry(f)); del e[f]; say()",
    ])
    func rewrittenManifestNeedsThePassphraseToDetect(script: String) async throws {
        try export()
        try await rewritten(script)
        #expect(try problems("changed.zip", passphrase: nil).isEmpty)
        #expect(try problems("changed.zip", passphrase: passphrase) == [.archive])
    }

    @Test func omittedFileIsMissing() async throws {
        try export()
        try await rewritten("del e[f]")
        for passphrase in [passphrase, nil] {
            #expect(try problems("changed.zip", passphrase: passphrase) == [.missing])
        }
        try await rewritten("del e['chatfs.db']")
        #expect(try problems("changed.zip", passphrase: passphrase) == [.missing])
    }

    @Test func decompressionBombIsNotRead() async throws {
        try export()
        try await rewritten(
            """
            kind = zipfile.ZIP_DEFLATED
            e[f] = b'0' * 50_000_000
            entry(f)['size'] = len(e[f]); entry(f)['sha256'] = hashlib.sha256(e[f]).hexdigest(); say()
            """)
        #expect(try folder.read("changed.zip").count < 10_000_000)
        #expect(try problems("changed.zip", passphrase: nil) == [.archive])
    }

    @Test func filesWithoutKeyAreNotAuthentic() throws {
        #expect(TagCheck(FileArguments(key: [], nonce: []), size: 100) == nil)
        #expect(TagCheck(CryptoFile.freshArguments(), size: 15) == nil)
    }
}
