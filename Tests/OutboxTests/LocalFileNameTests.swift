import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Sidecars, partial files and unsaved texts, decided by more than the name.
@Suite struct LocalFileNameTests {
    private func reason(_ file: String, by programs: [String] = ["editor"], beside: String...) -> HoldReason?
    {
        let writers = programs.map { program in
            WriterEvidence(program: WriterPolicy().program(Caller(executable: program)))
        }
        return LocalFileName.reason(for: name(file), writers: writers) { beside.map(name).contains($0) }
    }

    @Test(arguments: [
        ("wal.db-shm", "wal.db"), ("wal.db-wal", "wal.db"), ("wal.db-journal", "wal.db"),
        ("map.tif.aux.xml", "map.tif"), ("map.tif.ovr", "map.tif"), ("IMG.CR2.xmp", "IMG.CR2"),
        ("genome.fa.fai", "genome.fa"), ("vault.kdbx.lock", "vault.kdbx"), ("notes.txt.save", "notes.txt"),
        ("notes.txt.save.3", "notes.txt"),
    ])
    func sidecarIsHeldBesideItsFile(_ file: String, _ base: String) {
        #expect(reason(file, beside: base) != nil)
        #expect(reason(file, by: [], beside: base) != nil)
        // Without its file, or beside another one, it is an ordinary file.
        #expect(reason(file) == nil && reason(file, beside: base + "x", "x" + base) == nil)
    }

    @Test(arguments: [
        "/bin/cp", "/bin/mv", "/usr/bin/nautilus", "/usr/bin/gio", "/usr/bin/rsync", "/usr/bin/tar",
    ])
    func copyIsNoSidecar(_ program: String) {
        for (file, base) in [("wal.db-shm", "wal.db"), ("x.aux.xml", "x"), ("a.save", "a")] {
            #expect(reason(file, by: [program], beside: base) == nil, "\(file)")
        }
    }

    @Test func unsavedEditorTextIsHeld() {
        #expect(reason("new.txt.save", by: ["/usr/bin/nano"]) == .unsaved)
        #expect(reason("new.txt.save", by: ["/usr/bin/vim"]) == nil)
        #expect(reason("DEADJOE", by: ["/usr/bin/joe"]) == .unsaved && reason("DEADJOE") == nil)
        #expect(reason("ed.hup", by: ["/usr/bin/ed"]) == .unsaved)
    }

    @Test func partialDownloadsAreHeld() {
        for file in ["clip.f0.mp4", "clip.f137.mp4", "clip.f251.webm", "clip.fhls-720p.m4a", "clip.temp.mkv"]
        {
            #expect(reason(file, by: ["/usr/bin/yt-dlp"]) == .part, "\(file)")
            #expect(reason(file, by: ["/usr/bin/ffmpeg", "yt-dlp"]) == .part, "\(file)")
            #expect(reason(file, by: ["/bin/cp"], beside: "clip.mp4") == nil, "\(file)")
            #expect(reason(file, by: ["/usr/bin/ffmpeg"]) == nil, "\(file)")
        }
        for file in ["film.f4v", "clip.f.mp4", "f1.mp4", ".f1.mp4", "clip.mp4", "clip.f1.", "a.f1.tar.g~z"] {
            #expect(reason(file, by: ["/usr/bin/yt-dlp"]) == nil, "\(file)")
        }
    }

    @Test func documentShowsTheTable() throws {
        let rows = LocalFileName.table.map { row in
            let evidence =
                switch row.evidence {
                case .besideItsFile: "`NAME` lies beside it"
                case .writtenBy(_, orBesideItsFile: true): "one of them wrote it, or `NAME` lies beside it"
                case .writtenBy(_, orBesideItsFile: false):
                    "one of them, or a program that it started, wrote it"
                }
            let names = row.patterns.map { "`\($0)`" }.joined(separator: ", ")
            return "| \(names) | \(row.programs) | \(evidence) |"
        }
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = String(
            decoding: try OpenFile("/" + root + "/docs/user/sending.md", flags: O_RDONLY).readAll(
                limit: 1 << 20), as: UTF8.self)
        for row in rows { #expect(text.contains(row + "\n"), "\(row)") }
    }
}
