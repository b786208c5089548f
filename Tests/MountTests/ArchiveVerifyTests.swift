import Glibc
import Posix
import TestSupport
import Testing

/// `chatfs export` of damaged data, and `chatfs verify ARCHIVE`.
@Suite(.serialized) struct ArchiveVerifyTests {
    private let stage: KeyStage
    private static let handed = ["correct horse", "archive"]
    private var archive: String { stage.folder.path("a.zip") }

    /// Alice with a note.
    init() async throws {
        stage = try KeyStage()
        try await stage.make(passphrase: "correct horse")
        let note = try stage.folder.write([UInt8](repeating: 7, count: 300_000), to: "note.bin")
        let sent = try await stage.chatfs(
            "send \(note) 'Saved notes' --passphrase-fd 3", handing: ["correct horse"])
        try #require(sent.succeeded, "\(sent.errors)")
    }

    private func export() async throws -> Shell.Outcome {
        try await stage.chatfs(
            "export \(archive) --passphrase-fd 3 --archive-passphrase-fd 4", handing: Self.handed)
    }

    private func verify(_ more: String = "", passphrase: String? = "archive") async throws -> Shell.Outcome {
        let handed = passphrase.map { "printf %s \($0) | " } ?? ""
        let option = passphrase == nil ? "" : "--archive-passphrase-fd 0"
        return try await Shell.script(
            "\(handed)\(ChatFSProcess.path) verify \(archive) \(option) \(more)\(passphrase == nil ? " </dev/null" : "")",
            environment: stage.environment)
    }

    private var stored: String {
        get throws {
            let folder = "data/profiles/1/files"
            return "\(folder)/" + (try #require(try stage.folder.names(in: folder).first))
        }
    }

    @Test func intactArchivePassesVerification() async throws {
        #expect(try await export().succeeded)
        let outcome = try await verify()
        #expect(outcome.succeeded && outcome.output.isEmpty, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.errors.contains("no problems"), "\(outcome.errors)")
        let json = try await verify("--json")
        #expect(json.succeeded && json.output.contains("\"authenticated\":true"), "\(json.output)")
        #expect(json.output.contains("\"findings\":[]"), "\(json.output)")
        let without = try await verify(passphrase: nil)
        #expect(without.succeeded && without.errors.contains("Deliberate changes"), "\(without.errors)")
        let wrong = try await verify(passphrase: "wrong")
        #expect(wrong.ending == .code(1) && wrong.errors.contains("not the right one"), "\(wrong.errors)")
        for option in ["--fix", "--profile alice", "--data x"] {
            #expect(try await verify(option).ending == .code(64), "\(option)")
        }
        let left = try await Shell.script("ls -d ${TMPDIR:-/tmp}/chatfs-verify-* 2>/dev/null")
        #expect(left.output == "")
    }

    @Test func exportReportsDamagedFileAndVerifyFindsIt() async throws {
        let file = try OpenFile(stage.folder.path(stored), flags: O_RDWR)
        try file.write(try file.read(count: 1, at: 1000).map { $0 ^ 1 }, at: 1000)
        let exported = try await export()
        #expect(exported.ending == .code(1), "\(exported.errors)")
        #expect(exported.errors.contains("is damaged: its tag is wrong"), "\(exported.errors)")
        #expect(access(archive, F_OK) == 0)
        for passphrase in ["archive", nil] {
            let outcome = try await verify(passphrase: passphrase)
            #expect(outcome.ending == .code(1) && outcome.output.contains(": damaged"), "\(outcome.output)")
        }
        let json = try await verify("--json")
        #expect(json.ending == .code(1) && json.output.contains("\"kind\":\"damaged\""), "\(json.output)")
        #expect(json.output.contains("\"outcome\":\"elsewhere\""), "\(json.output)")
    }

    @Test func damagedArchiveIsReported() async throws {
        #expect(try await export().succeeded)
        let file = try OpenFile(archive, flags: O_RDWR)
        try file.write(try file.read(count: 1, at: 60_000).map { $0 ^ 1 }, at: 60_000)
        #expect(try await verify().ending == .code(1))
        try file.truncate(to: 50_000)
        let cut = try await verify("--json")
        #expect(cut.ending == .code(1) && cut.output.contains("\"kind\":\"archive\""), "\(cut.output)")
        try stage.folder.write(Array("text".utf8), to: "a.zip")
        let none = try await verify()
        #expect(none.ending == .code(1) && none.output.contains("not an archive"), "\(none.output)")
        let folder = try await ChatFSProcess.run(["verify", stage.folder.path])
        #expect(folder.ending == .code(64), "\(folder.errors)")
        let gone = try await ChatFSProcess.run(["verify", archive + "x"])
        #expect(gone.ending != .code(0) && gone.errors.contains("a.zipx"), "\(gone.errors)")
    }
}
