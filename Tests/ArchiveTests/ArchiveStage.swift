import Base
import Cryptography
import Glibc
import Posix
import TestSupport

@testable import Archive

/// Creates archives like the program, and forged ones.
struct ArchiveStage {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    static let key = SecretBytes([UInt8](repeating: 7, count: 32))

    /// Bytes that differ between names.
    static func bytes(_ count: Int, _ seed: UInt8 = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) &+ seed }
    }

    func open(_ name: String, _ flags: Int32 = O_RDONLY) throws -> OpenFile {
        try OpenFile(folder.path(name), flags: flags)
    }

    /// Returns an archive of these files, by entry name.
    func archive(_ files: [String: [UInt8]], as name: String = "a.zip") throws -> OpenFile {
        let file = try open(name, O_RDWR | O_CREAT | O_TRUNC)
        let writer = try ArchiveWriter(to: file, created: 1_700_000_000)
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            try folder.write(bytes, to: "source")
            guard let entry = EntryName(name) else { throw WaitedInVain("\(name) is an invalid name") }
            guard try writer.add(open("source"), as: entry) == .whole else {
                throw WaitedInVain("it was not read")
            }
        }
        try writer.finish(program: "tests", key: Self.key)
        return file
    }

    /// Runs a Python script with `z`, a ZIP file open for writing, and `manifest(entries)`, which returns the bytes of
    /// a manifest of [(name, size, bytes for the digest)].
    func forged(_ script: String) async throws -> OpenFile {
        let frame = """
            import zipfile, json, hashlib, sys, stat, warnings
            warnings.simplefilter("ignore")
            def manifest(entries, **more):
                return json.dumps(dict({"format": "chatfs archive", "version": 2, "created": 1, "program": "x",
                    "entries": [{"name": n, "size": s, "sha256": hashlib.sha256(b).hexdigest()} for n, s, b in entries]},
                    **more))
            z = zipfile.ZipFile(sys.argv[1], "w")
            \(script)
            z.close()
            """
        let outcome = try await Shell.run("python3", ["-c", frame, folder.path("forged.zip")])
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
        return try open("forged.zip")
    }

    /// Extracts an archive into a folder.
    func extract(_ archive: OpenFile, into name: String = "out") throws -> [Extraction.Failure] {
        let path = folder.path(name)
        if access(path, F_OK) != 0 { _ = try folder.makeFolder(name) }
        return try Extraction(archive).run(into: OpenFile(path, flags: O_RDONLY | O_DIRECTORY)) { _, _ in }
    }

    /// Returns every file below a folder, by path.
    func tree(_ name: String = "out") throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        func walk(_ prefix: String) throws {
            for entry in try folder.names(in: name + "/" + prefix) {
                var status = stat()
                guard lstat(folder.path("\(name)/\(prefix)\(entry)"), &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    try walk(prefix + entry + "/")
                } else {
                    found[prefix + entry] = try folder.read("\(name)/\(prefix)\(entry)")
                }
            }
        }
        if access(folder.path(name), F_OK) == 0 { try walk("") }
        return found
    }
}
