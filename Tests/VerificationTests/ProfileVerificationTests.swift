import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Outbox
import Posix
import TestSupport
import Testing

@testable import Verification

@Suite("Verification of profiles")
struct ProfileVerificationTests {
    private static let notes = [
        "a.txt": Array("first".utf8), "b.bin": [UInt8](repeating: 7, count: 3_000_000), "empty": [],
    ]

    @Test("intact files are counted")
    func whole() async throws {
        let household = try await Household(notes: Self.notes)
        var last: (UInt64, UInt64) = (0, 0)
        let result = try household.verification().run { last = ($0, $1) }
        let record = result.record(at: 12)
        #expect(record.findings == [] && record.time == 12)
        #expect(record.files == 3 && record.bytes == 3_000_005 && record.databases == 1)
        #expect(last == (3_000_005, 3_000_005))
    }

    @Test(
        "any flipped bit is found with its file",
        arguments: [0, 1_500_000, 2_999_999, 3_000_000, 3_000_015])
    func damaged(offset: UInt64) async throws {
        let household = try await Household(notes: Self.notes)
        try household.flip(household.stored("b.bin"), at: offset)
        let findings = try household.found().record(at: 0).findings
        #expect(findings.map(\.kind) == [.damaged])
        #expect(findings.first?.path == "Saved notes/b.bin" && findings.first?.size == 3_000_000)
        #expect(findings.first?.outcome == .lost)
    }

    @Test(
        "shortened and extended files are damaged",
        arguments: [0, 10, 2_999_000, 3_000_017])
    func length(size: UInt64) async throws {
        let household = try await Household(notes: Self.notes)
        try OpenFile(household.stored("b.bin"), flags: O_RDWR).truncate(to: size)
        #expect(try household.found().record(at: 0).findings.map(\.kind) == [.damaged])
    }

    @Test("missing files are found, links not followed")
    func missing() async throws {
        let household = try await Household(notes: Self.notes)
        let path = try household.stored("a.txt")
        #expect(unlink(path) == 0)
        #expect(try household.found().record(at: 0).findings.map(\.kind) == [.missing])
        #expect(symlink("/etc/os-release", path) == 0)
        #expect(try household.found().record(at: 0).findings.map(\.kind) == [.damaged])
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(try household.found().record(at: 0).findings.map(\.kind) == [.damaged])
    }

    @Test("an unreadable directory is reported")
    func unreadable() async throws {
        let household = try await Household(notes: Self.notes)
        let file = try PrivateFolder(household.own + "/outbox", purpose: "chatfs outbox")
        let core = try await EmbeddedCore.open(household.directory, profile: "alice")
        await (try Outbox(core: core, folder: file, quietTime: .seconds(1))).shutDown()
        await core.shutDown()
        let spool = household.own + "/outbox/spool"
        #expect(rename(spool, household.folder.path("moved")) == 0)
        try OpenFile(spool, flags: O_WRONLY | O_CREAT).write([1], at: 0)
        let findings = try household.found().findings
        #expect(findings.map(\.path) == ["profiles/1"] && findings.map(\.outcome) == [.lost])
        #expect(findings.first?.detail.contains("were not checked") == true, "\(findings)")
    }

    @Test("stray files are set aside without overwriting")
    func strays() async throws {
        let household = try await Household(notes: Self.notes)
        let file = try PrivateFolder(household.own + "/outbox", purpose: "chatfs outbox")
        let core = try await EmbeddedCore.open(household.directory, profile: "alice")
        let outbox = try Outbox(core: core, folder: file, quietTime: .seconds(1))
        outbox.start()
        await outbox.shutDown()
        await core.shutDown()
        let places = ["files/left", "outbox/spool/left"]
        for place in places {
            try OpenFile("\(household.own)/\(place)", flags: O_WRONLY | O_CREAT).write([1, 2, 3], at: 0)
        }
        // The process that has the profile may be about to add their rows.
        #expect(try household.found(isAlone: false).findings == [])
        let found = try household.found()
        #expect(Set(found.findings.map(\.path)) == Set(places.map { "profiles/1/\($0)" }))
        #expect(found.findings.allSatisfy { $0.kind == .stray && $0.outcome == .removable && $0.size == 3 })
        let settled = try household.verification().setStraysAside(found)
        #expect(settled.findings.allSatisfy { $0.outcome == .setAside && $0.isSettled })
        #expect(try household.names(in: "set-aside") == ["left", "left.2"])
        #expect(try household.found().record(at: 0).findings == [])
    }

    @Test("files of lost drafts and links are set aside")
    func lostDatabases() async throws {
        let household = try await Household(notes: Self.notes)
        let lost = [
            "outbox/journal.sqlite": "outbox/spool",
            "links.sqlite": "staging/links-\(household.alice.id)",
        ]
        _ = try PrivateFolder.folder("outbox", in: OpenFile(household.own, flags: O_RDONLY | O_DIRECTORY))
        for (database, place) in lost {
            let path = "\(household.own)/\(place)"
            try #require(mkdir(path, 0o700) == 0)
            try OpenFile(path + "/file", flags: O_WRONLY | O_CREAT).write([1, 2, 3], at: 0)
            try OpenFile("\(household.own)/\(database)", flags: O_WRONLY | O_CREAT).write([1], at: 0)
        }
        try household.directory.noteParts()
        for database in lost.keys { try #require(unlink("\(household.own)/\(database)") == 0) }
        let found = try household.found()
        #expect(found.findings.map(\.outcome) == [.replaceable, .replaceable])
        let settled = try household.verification().replaceParts(found)
        #expect(settled.findings.map(\.outcome) == [.replaced, .replaced], "\(settled.findings)")
        #expect(try household.names(in: "set-aside") == ["links-\(household.alice.id)", "spool"])
        #expect(try household.names(in: "set-aside/links-\(household.alice.id)") == ["file"])
    }

    @Test("a damaged page is found and left unchanged")
    func database() async throws {
        let household = try await Household(notes: Self.notes)
        // An invalid kind in the header of the second page.
        try household.flip(household.directory.path + "/chatfs.db", at: 4096)
        let findings = try household.found().record(at: 0).findings
        #expect(findings.contains { $0.kind == .database && $0.path == "chatfs.db" })
        #expect(findings.allSatisfy { $0.outcome == .lost })
    }

    @Test("a busy database is no damage")
    func refused() async throws {
        let household = try await Household(notes: Self.notes)
        let path = household.own + "/names.sqlite"
        _ = unlink(path)
        try #require(mkdir(path, 0o700) == 0)
        let findings = try household.found().record(at: 0).findings
        let refused = findings.filter { $0.path.hasSuffix("/names.sqlite") }
        #expect(refused.map(\.kind) == [.unreadable])
        #expect(!findings.contains { $0.kind == .database && $0.path == "chatfs.db" })
    }

    @Test("an unopenable directory's database is reported")
    func unopened() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("data")
        try folder.write(
            Array("no database, but a line of text that is longer than a header is".utf8),
            to: "data/chatfs.db")
        #expect(ProfileVerification.damage(ofDirectory: folder.path("data"), key: nil)?.kind == .database)
        #expect(ProfileVerification.damage(ofDirectory: folder.path("nowhere"), key: nil) == nil)
    }

    @Test("a draft without bytes is named")
    func draft() async throws {
        let household = try await Household(notes: [:])
        let core = try await EmbeddedCore.open(household.directory, profile: "alice")
        let folder = try PrivateFolder(household.own + "/outbox", purpose: "chatfs outbox")
        let outbox = try Outbox(core: core, folder: folder, quietTime: .seconds(100))
        outbox.start()
        let chat = try #require(try await core.chats().first { $0.displayName == "bob" }).reference
        // A temporary name, so the draft stays.
        let draft = try outbox.create(name: Array("letter.part".utf8), in: chat)
        let bytes: [UInt8] = [1, 2, 3]
        try bytes.withUnsafeBytes { try draft.write($0, at: 0, through: .ofItsMaker, by: getpid()) }
        draft.closed(.ofItsMaker)
        try draft.synchronise()
        await outbox.shutDown()
        await core.shutDown()
        #expect(try household.found().record(at: 0).findings == [])
        for name in try household.names(in: "outbox/spool") {
            unlink("\(household.own)/outbox/spool/\(name)")
        }
        let findings = try household.found().record(at: 0).findings
        // The chat has no folder, and bob chose his own name.
        #expect(findings.map(\.path) == ["\(chat)/letter.part"] && findings.map(\.kind) == [.missing])
    }
}

@Suite("Records of verification")
struct VerificationRecordTests {
    private static let finding = Finding(
        .damaged, "bob/\u{202E}a\n.txt", size: 5, detail: "Its tag is wrong", outcome: .receivable)

    @Test("the summary contains numbers and no names")
    func kept() throws {
        let folder = try TemporaryFolder()
        #expect(VerificationSummary.read(profileFolder: folder.path) == nil)
        let findings = Array(repeating: Self.finding, count: 100_000)
        let record = VerificationRecord(time: 9, databases: 2, files: 3, bytes: 4, findings: findings)
        try VerificationSummary(record).write(toProfileFolder: folder.path)
        let read = try #require(VerificationSummary.read(profileFolder: folder.path))
        #expect(read == VerificationSummary(record) && read.unsettled == 100_000 && read.bytes == 4)
        let text = String(decoding: try folder.read("verified.json"), as: UTF8.self)
        #expect(!text.contains("bob") && !text.contains("txt"))
        var status = stat()
        #expect(stat(folder.path("verified.json"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("an invalid summary is ignored", arguments: ["", "{", "[]", "{\"time\":1}"])
    func malformed(text: String) throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(text.utf8), to: "verified.json")
        #expect(VerificationSummary.read(profileFolder: folder.path) == nil)
    }

    @Test("each finding has an outcome until settled")
    func words() {
        for kind in Finding.Kind.allCases {
            for outcome in Finding.Outcome.allCases {
                let finding = Finding(kind, "a/b", detail: "Why", outcome: outcome)
                #expect(finding.sentence.hasPrefix("a/b: ") && finding.sentence.hasSuffix("."))
                #expect(finding.isSettled == [.requested, .setAside, .closed, .replaced].contains(outcome))
            }
        }
    }
}
