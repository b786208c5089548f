import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Programs' intermediate files, and files that are not sent.
@Suite struct LocalDraftTests {
    @Test(arguments: [
        ".a.bin.AoyuMr", "movie.mkv.part", "setup.exe.crdownload", "a.pdf.partial~", ".~lock.letter.odt#",
        ".goutputstream-A1B2C3", "notes.txt~", ".notes.txt.swp", ".notes.txt.swx", "4913", "sedAb3dEf",
        ".nfs000000000001", ".fuse_hidden0000001", "lu12ab.tmp", "~$letter.docx", "#draft#", ".#draft",
        "tmp.AbCdEfGhIj", ".DS_Store", "._IMG_1.jpg", "VIDEO.MP4.PART", "para.mp4.part-Frag4",
        "para.mp4.part-Frag12.part", "d2utmpabcdef", "d2utmpX1y2Z3", "doc.pdf.~qpdf-temp#",
        ".xdp-report.txt-A1b2C3", ".xdp-film.srt-abcdef", "a.jpg_exiftool_tmp",
    ])
    func temporaryNameStaysLocalWithReason(_ text: String) async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: text)
        bench.clock.advance(by: .seconds(60))
        try await bench.settle()
        #expect(draft.state == .draft)
        #expect(draft.snapshot.problem?.contains("temporary") == true)
        #expect(bench.core.sent.count == 1)
    }

    @Test(arguments: [
        "a.bin", ".bashrc", "part", "party.jpg", "4914", "sediment.txt", "sed", "a.part.zip", "template",
        "#1.txt", ".config.json", "tmp.txt", "report.final.pdf", "~home", "ünïcode.tmp.txt", "#", "##",
        ".env.backup", ".npmrc.sample", "sedentary", "tmp.attachment", "d2utmp.txt", "a.part-Frag",
        ".xdp-portal", "film.f4v", "a.save", "x.aux.xml", "clip.f137.mp4", "wal.db-shm",
    ])
    func ordinaryNameIsSent(_ text: String) async throws {
        let bench = try Workbench()
        try bench.write([1], to: text)
        bench.beQuiet()
        #expect(try await bench.messages(1).count == 1)
    }

    @Test func rsyncsRenamedFileIsSent() async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(5000), to: ".a.bin.AoyuMr")
        try draft.setModified(Timestamp(seconds: 77))
        bench.clock.advance(by: .seconds(5))
        try draft.opened(for: .reading)
        draft.closed(for: .reading)
        try bench.outbox.rename(draft, to: name("a.bin"))
        #expect(draft.snapshot.problem == nil)
        bench.beQuiet()
        let sent = try await bench.messages(1)
        #expect(sent[0].message.fileName == "a.bin")
        #expect(sent[0].message.modified == Timestamp(seconds: 77))
        #expect(sent[0].bytes == pattern(5000))
    }

    @Test func gnomeEditorReplacesDraft() async throws {
        let bench = try Workbench()
        let old = try bench.write(Array("old".utf8), to: "letter.txt")
        let new = try bench.write(Array("new".utf8), to: ".goutputstream-1A2B3C")
        try new.synchronise()
        try bench.outbox.rename(new, to: name("letter.txt"))
        #expect(old.state == .removed)
        #expect(bench.outbox.drafts() == [new])
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("new".utf8)])
        try await bench.settle()
        #expect(bench.core.sent.count == 2)
    }

    @Test func vimWritesInPlaceWithSwapFile() async throws {
        let bench = try Workbench()
        let swap = try bench.outbox.create(name: name(".todo.swp"), in: alice)
        try [UInt8](repeating: 0, count: 4096).withUnsafeBytes { try swap.write($0, at: 0) }
        let probe = try bench.outbox.create(name: name("4913"), in: alice)
        probe.closed(for: .writing)
        try bench.outbox.remove(probe)
        let draft = try bench.outbox.create(name: name("todo"), in: alice)
        try Array("buy milk\n".utf8).withUnsafeBytes { try draft.write($0, at: 0) }
        try draft.synchronise()
        draft.closed(for: .writing)
        // A second :w within the quiet time: truncated and rewritten.
        try draft.opened(for: .writing)
        try draft.truncate(to: 0)
        try Array("buy bread\n".utf8).withUnsafeBytes { try draft.write($0, at: 0) }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("buy bread\n".utf8)])
        #expect(swap.state == .draft)
        swap.closed(for: .writing)
        try bench.outbox.remove(swap)
        try await bench.settle()
        #expect(bench.core.sent.count == 2)
    }

    @Test func libreOfficeLocksAndRenames() async throws {
        let bench = try Workbench()
        try bench.write(Array("me".utf8), to: ".~lock.letter.odt#")
        let draft = try bench.write(pattern(30_000), to: "lu81726nvx.tmp")
        try bench.outbox.rename(draft, to: name("letter.odt"))
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.message.fileName) == ["letter.odt"])
    }

    @Test func shellRedirectionWaitsForItsProgram() async throws {
        let bench = try Workbench()
        // `sleep 100 > out`: the shell opens and duplicates; a flush arrives without a release.
        let draft = try bench.outbox.create(name: name("out"), in: alice)
        bench.clock.advance(by: .seconds(100))
        #expect(draft.state == .draft)
        try Array("done".utf8).withUnsafeBytes { try draft.write($0, at: 0) }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("done".utf8)])
    }

    @Test func sedInPlaceSendsOnce() async throws {
        let bench = try Workbench()
        try bench.write(Array("a cat".utf8), to: "pet.txt")
        let temporary = try bench.write(Array("a dog".utf8), to: "sedXy12Zz")
        try bench.outbox.rename(temporary, to: name("pet.txt"))
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("a dog".utf8)])
    }

    @Test func temporaryNameAfterCloseHoldsDraft() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a")
        try bench.outbox.rename(draft, to: name("a~"))
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        #expect(bench.core.sent.count == 1)
    }

    @Test func emptyFileWaitsForContent() async throws {
        let bench = try Workbench()
        let draft = try bench.write([], to: "empty")
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.snapshot.problem?.contains("empty") == true)
        try draft.opened(for: .writing)
        try [UInt8]([1]).withUnsafeBytes { try draft.write($0, at: 0) }
        draft.closed(for: .writing)
        #expect(draft.snapshot.problem == nil)
        bench.beQuiet()
        #expect(try await bench.messages(2).first { $0.item.chat == alice }?.bytes == [1])
    }

    @Test func emptyFilesAreDroppedAfterSevenDays() async throws {
        let bench = try Workbench()
        let old = try bench.write([], to: "a")
        let kept = try bench.write([], to: "b")
        try await bench.live(days: 6)
        try kept.opened(for: .writing)
        kept.closed(for: .writing)
        try await bench.live(days: 1)
        try await wait(until: "it is dropped") { !bench.outbox.drafts().contains(old) }
        try await bench.changes { if case .removed(let draft) = $0 { draft == old } else { false } }
        #expect(bench.outbox.drafts() == [kept])
    }

    @Test func localDraftSurvivesPowerCut() async throws {
        let bench = try Workbench()
        try bench.write([1, 2], to: "a.part")
        bench.beQuiet()
        try await bench.settle()
        let remains = try CrashTests.Remains(of: bench.folder, bench.core)
        let next = try remains.reopen(boot: "next boot")
        let draft = try #require(next.outbox.drafts().first { $0.snapshot.name == name("a.part") })
        #expect(draft.state == .draft)
        try next.outbox.rename(draft, to: name("a"))
        #expect(try await next.replayed(2).contains { $0.bytes == [1, 2] })
    }

    @Test func namesAreKeptAndSentSanitised() async throws {
        let bench = try Workbench()
        try bench.write([1], to: ".hidden\u{202E}name")
        try bench.write([2], to: "...")
        bench.beQuiet()
        let sent = try await bench.messages(2)
        #expect(sent.map(\.message.fileName) == ["hiddenname", "file-2"])
        #expect(bench.outbox.drafts().map(\.snapshot.name) == [name(".hidden\u{202E}name"), name("...")])
        #expect(fails(.invalidName) { _ = try bench.outbox.create(name: [0x66, 0xFF], in: alice) })
        #expect(fails(.invalidName) { _ = try bench.outbox.create(name: name("a/b"), in: alice) })
        #expect(fails(.invalidName) { _ = try bench.outbox.create(name: name(".."), in: alice) })
        #expect(fails(.invalidName) { _ = try bench.outbox.create(name: [], in: alice) })
        #expect(
            fails(.nameTooLong) {
                _ = try bench.outbox.create(name: [UInt8](repeating: 0x61, count: 256), in: alice)
            })
        let draft = try bench.write([3], to: "twice")
        #expect(fails(.nameTaken) { _ = try bench.outbox.create(name: name("twice"), in: alice) })
        _ = try bench.outbox.create(name: name("twice"), in: bob)
        #expect(draft.state == .draft)
    }
}
