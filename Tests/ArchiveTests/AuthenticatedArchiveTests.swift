import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

@Suite("Archives rewritten without the passphrase")
struct AuthenticatedArchiveTests {
    private let folder: TemporaryFolder
    private let passphrase = SecretBytes(Array("correct horse".utf8))

    /// Two archives of one directory with one passphrase.
    init() throws {
        folder = try TemporaryFolder()
        let directory = try DataDirectory(folder.path("data"))
        for (name, archive) in [("alice", "a.zip"), ("bob", "b.zip")] {
            _ = try directory.createProfile(name)
            let snapshot = try Snapshot(
                of: directory, passphrase: passphrase,
                cost: Argon2id.Cost(passes: 1, memory: 8 << 10) ?? .usual)
            try NewFile.write(to: folder.path(archive)) {
                try snapshot.write(to: $0, program: "tests") { _, _ in }
            }
        }
    }

    /// Rewrites the first archive with a script that has its entries `e`, those of the second archive `o`, and the
    /// manifest `m`, which `say()` writes back.
    private func rewritten(_ script: String) async throws -> OpenFile {
        let frame = """
            import sys, zipfile, json, hashlib
            def read(p):
                z = zipfile.ZipFile(p)
                return {n: z.read(n) for n in z.namelist()}
            e, o = read(sys.argv[1]), read(sys.argv[2])
            m = json.loads(e["manifest.json"])
            def say():
                e["manifest.json"] = json.dumps(m, sort_keys=True, separators=(",", ":")).encode()
            def add(n, b):
                e[n] = b
                m["entries"].append({"name": n, "size": len(b), "sha256": hashlib.sha256(b).hexdigest()})
            def drop(n):
                del e[n]
                m["entries"] = [x for x in m["entries"] if x["name"] != n]
            \(script)
            z = zipfile.ZipFile(sys.argv[3], "w")
            for n, b in e.items(): z.writestr(n, b)
            z.close()
            """
        let outcome = try await Shell.run(
            "python3", ["-c", frame] + ["a.zip", "b.zip", "changed.zip"].map(folder.path))
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
        return try OpenFile(folder.path("changed.zip"), flags: O_RDONLY)
    }

    private func restore(_ archive: OpenFile) throws {
        let restoration = try Restoration(archive, to: folder.path("again"), passphrase: passphrase)
        #expect(try restoration.run(isSealed: true) { _, _ in } == [])
    }

    @Test("an unchanged archive is accepted in any entry order")
    func unchanged() async throws {
        try restore(await rewritten("say(); e = dict(reversed(e.items()))"))
        #expect(access(folder.path("again/chatfs.db"), F_OK) == 0)
    }

    @Test(
        "changed lists are rejected before extraction",
        arguments: [
            "add('profiles/1/files/' + '0' * 32, b'x'); say()",
            "add('profiles/1/names.sqlite', o['chatfs.db']); say()",
            "drop('chatfs.db'); add('chatfs.db', o['chatfs.db']); say()",
            "m['created'] += 1; say()", "m['program'] = 'ChatFS 9'; say()", "m['entries'].reverse(); say()",
            "e['manifest.json'] = o['manifest.json']; e['chatfs.db'] = o['chatfs.db']",
            "e['manifest.json'], e['manifest.tag'] = o['manifest.json'], o['manifest.tag']",
            "del e['manifest.tag']", "e['manifest.tag'] = o['manifest.tag']", "e['manifest.tag'] = b''",
            "e['manifest.tag'] = b'0' * 64", "del e['manifest.tag']; m['version'] = 1; say()",
        ])
    func changed(script: String) async throws {
        let archive = try await rewritten(script)
        let error = #expect(throws: ArchiveError.self) { try restore(archive) }
        #expect([.malformed, .damaged].contains(error?.code), "\(error?.sentence ?? "")")
        #expect(try folder.names() == ["a.zip", "b.zip", "changed.zip", "data"])
    }

    @Test("missing files are reported; databases are required")
    func missing() async throws {
        let archive = try await rewritten("del e['chatfs.db']")
        let error = #expect(throws: ArchiveError.self) { try restore(archive) }
        #expect(error?.code == .damaged && error?.sentence.contains("chatfs.db") == true)
        #expect(access(folder.path("again"), F_OK) != 0)
    }
}
