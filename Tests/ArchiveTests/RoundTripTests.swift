import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

@Suite("Round trips of archives")
struct RoundTripTests {
    private static let files: [String: [UInt8]] = [
        "a": [], "b.db": [7], "profiles/1/files/c": ArchiveStage.bytes(3_000_000),
        "profiles/1/files/d": ArchiveStage.bytes(1 << 20), "profiles/22/x.sqlite": ArchiveStage.bytes(99_999),
    ]

    @Test("files round-trip with private modes")
    func whole() async throws {
        let stage = try ArchiveStage()
        let archive = try stage.archive(Self.files)
        #expect(try stage.extract(archive) == [])
        #expect(try stage.tree() == Self.files)
        for (place, mode) in [("out/profiles/1/files", 0o700), ("out/profiles/1/files/c", 0o600)] {
            var status = stat()
            #expect(stat(stage.folder.path(place), &status) == 0 && Int(status.st_mode) & 0o777 == mode)
        }
        let path = stage.folder.path("a.zip")
        let script = """
            import sys, zipfile
            z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None
            print(len(z.read("profiles/1/files/c")), len(z.namelist()), z.infolist()[0].date_time[0])
            """
        let python = try await Shell.run("python3", ["-c", script, path])
        #expect(python.output == "3000000 7 2023\n", "\(python.errors)")
        for (tool, words) in [("unzip", ["-tq", path]), ("bsdtar", ["tf", path])] {
            // If they are installed.
            guard let found = try? Shell.find(tool) else { continue }
            #expect(try await Shell.run(found, words).succeeded)
        }
    }

    @Test("progress ends at the total in both directions")
    func progress() throws {
        let stage = try ArchiveStage()
        let extraction = try Extraction(stage.archive(Self.files))
        _ = try stage.folder.makeFolder("out")
        var last: (UInt64, UInt64) = (0, 0)
        _ = try extraction.run(into: OpenFile(stage.folder.path("out"), flags: O_RDONLY)) { done, total in
            #expect(done >= last.0 && done <= total)
            last = (done, total)
        }
        #expect(last == (extraction.manifest.total, extraction.manifest.total))
    }

    @Test("extraction writes only differing files")
    func resumed() throws {
        let stage = try ArchiveStage()
        let archive = try stage.archive(Self.files)
        #expect(try stage.extract(archive) == [])
        func number(_ name: String) -> UInt {
            var status = stat()
            return stat(stage.folder.path("out/\(name)"), &status) == 0 ? UInt(status.st_ino) : 0
        }
        let before = ["a", "profiles/1/files/c"].map(number)
        unlink(stage.folder.path("out/b.db"))
        try stage.folder.write(ArchiveStage.bytes(1 << 20, 2), to: "out/profiles/1/files/d")
        try stage.open("out/profiles/22/x.sqlite", O_RDWR).truncate(to: 5)
        // As left by a killed process.
        try stage.folder.write([1, 2], to: "out/profiles/1/files/.d.new")
        #expect(try stage.extract(archive) == [])
        #expect(try stage.tree() == Self.files)
        #expect(["a", "profiles/1/files/c"].map(number) == before)
    }

    @Test("memory does not grow with file size")
    func memory() throws {
        let stage = try ArchiveStage()
        let size: UInt64 = getenv("CHATFS_ARCHIVE_BYTES").flatMap { UInt64(String(cString: $0)) } ?? 256 << 20
        let sparse = try stage.open("sparse", O_RDWR | O_CREAT)
        try sparse.truncate(to: size)
        func peak() -> Int {
            var usage = rusage()
            getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss
        }
        let before = peak()
        let file = try stage.open("large.zip", O_RDWR | O_CREAT)
        let writer = try ArchiveWriter(to: file, created: 1)
        let name = try #require(EntryName("large"))
        #expect(try writer.add(sparse, as: name) == .whole)
        try writer.finish(program: "tests", key: ArchiveStage.key)
        #expect(try stage.extract(file) == [])
        var status = stat()
        #expect(stat(stage.folder.path("out/large"), &status) == 0 && UInt64(status.st_size) == size)
        // In KiB, including memory of other tests in the process.
        #expect(peak() - before < 100 << 10)
    }

    @Test("a full disk leaves no partial file")
    func fullDisk() throws {
        let stage = try ArchiveStage()
        let full = try OpenFile("/dev/full", flags: O_WRONLY)
        try stage.folder.write(ArchiveStage.bytes(3_000_000), to: "source")
        let name = try #require(EntryName("a"))
        let error = #expect(throws: ArchiveError.self) {
            let writer = try ArchiveWriter(to: full, created: 1)
            _ = try writer.add(stage.open("source"), as: name)
            try writer.finish(program: "tests", key: ArchiveStage.key)
        }
        #expect(error?.code == .noSpace && error?.sentence.contains("full") == true)
    }

    @Test("new files appear complete and replace nothing")
    func newFile() throws {
        let stage = try ArchiveStage()
        let path = stage.folder.path("new")
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try NewFile.write(to: path) { file in
                try file.write([1], at: 0)
                throw Failure()
            }
        }
        #expect(try stage.folder.names() == [])
        // Left by a killed process.
        try stage.folder.write([9, 9, 9], to: ".new.new")
        try NewFile.write(to: path) { file in
            #expect(access(path, F_OK) != 0)
            try file.write([1], at: 0)
        }
        #expect(try stage.folder.read("new") == [1] && stage.folder.names() == ["new"])
        #expect(throws: SystemError(code: EEXIST, operation: "make a new file")) {
            try NewFile.write(to: path) { _ in }
        }
    }
}
