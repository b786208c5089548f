import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

/// ZIP files of folders, read by other programs.
@Suite struct FolderZipTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func zip(_ name: String, _ body: (FolderZip) throws -> Void) throws {
        let file = try OpenFile(folder.path(name), flags: O_WRONLY | O_CREAT | O_EXCL)
        var position: UInt64 = 0
        let zip = try FolderZip { bytes in
            try file.write(bytes, at: position)
            position += UInt64(bytes.count)
        }
        try body(zip)
        try zip.finish()
    }

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    }

    private func add(_ bytes: [UInt8], as path: String, to zip: FolderZip) throws {
        try zip.add(
            file: Array(path.utf8), size: UInt64(bytes.count), modified: Timestamp(seconds: 1_000_000_000)
        ) { buffer, offset in
            let part = bytes[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            return part.count
        }
    }

    @Test func otherProgramsExtractTheZIP() async throws {
        try zip("a.zip") { zip in
            try zip.add(folder: Array("Ünï".utf8), modified: Timestamp(seconds: 1_000_000_000))
            try add(bytes(3_000_000), as: "Ünï/☀ large.bin", to: zip)
            try add([], as: "Ünï/empty", to: zip)
            try zip.add(folder: Array("Ünï/none".utf8), modified: Timestamp(seconds: 1))
            try add(bytes(10), as: "small", to: zip)
        }
        try folder.write(bytes(3_000_000), to: "large")
        let outcome = try await Shell.script(
            """
            set -e
            python3 -m zipfile -t a.zip && mkdir whole stream
            python3 - <<'P'
            import zipfile
            names = zipfile.ZipFile("a.zip").namelist()
            assert names == ["Ünï/", "Ünï/☀ large.bin", "Ünï/empty", "Ünï/none/", "small"], names
            zipfile.ZipFile("a.zip").extractall("whole")
            P
            cat a.zip | bsdtar -x -C stream -f -
            for way in whole stream; do
              cmp large "$way/Ünï/☀ large.bin" && test -d "$way/Ünï/none" && test "$(stat -c %s $way/small)" = 10
              test -e "$way/Ünï/empty" && ! test -s "$way/Ünï/empty"
            done
            test "$(date -u -r 'stream/small' +%s)" = 1000000000
            """, folder: folder.path, environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"])
        #expect(outcome.succeeded, "\(outcome.output)\(outcome.errors)")
    }

    @Test func zip64HoldsManyEntries() async throws {
        try zip("many.zip") { zip in for number in 0..<70_000 { try add([], as: "f/\(number)", to: zip) } }
        let count = try await Shell.run(
            "python3",
            [
                "-c", "import zipfile, sys; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))",
                folder.path("many.zip"),
            ])
        #expect(count.output == "70000\n", "\(count.errors)")
    }

    private struct Broken: Error {}

    @Test func outputAndFileErrorsStopTheZIP() throws {
        #expect(throws: Broken.self) {
            let zip = try FolderZip { _ in throw Broken() }
            try add(SystemRandomSource().bytes(4_000_000), as: "a", to: zip)
            try zip.finish()
        }
        #expect(throws: Broken.self) {
            let zip = try FolderZip { _ in }
            try zip.add(file: [97], size: 10, modified: Timestamp(seconds: 1)) { _, _ in throw Broken() }
        }
        #expect(throws: ArchiveError.self, "a file that became shorter") {
            let zip = try FolderZip { _ in }
            try zip.add(file: [97], size: 10, modified: Timestamp(seconds: 1)) { _, _ in 5 }
        }
        // A released writer writes nothing more.
        let written = Lock(0)
        do {
            let zip = try FolderZip { bytes in written.withLock { $0 += bytes.count } }
            try add(bytes(100), as: "a", to: zip)
        }
        #expect(written.withLock { $0 } == 0)
    }
}
