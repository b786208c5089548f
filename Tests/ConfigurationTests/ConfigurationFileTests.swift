import Glibc
import Posix
import TestSupport
import Testing

@testable import Configuration

@Suite struct ConfigurationFileTests {
    private let folder: TemporaryFolder
    private let file: ConfigurationFile
    private let reader = ConfigurationReader(mountOptions: [], chatOptions: [], home: "/home/ada")

    init() throws {
        folder = try TemporaryFolder()
        file = ConfigurationFile(path: folder.path("chatfs/config.toml"))
    }

    @Test func missingFileIsAnEmptyConfiguration() throws {
        #expect(try file.read(with: reader).mounts.isEmpty)
    }

    @Test func placeFollowsTheBaseDirectorySpecification() {
        #expect(ConfigurationFile.usual(configHome: "/x", home: "/h").path == "/x/chatfs/config.toml")
        #expect(ConfigurationFile.usual(configHome: nil, home: "/h").path == "/h/.config/chatfs/config.toml")
        #expect(ConfigurationFile.usual(configHome: "x", home: "/h").path == "/h/.config/chatfs/config.toml")
    }

    @Test func exampleIsCreatedOnceForItsUserAlone() throws {
        try file.createIfMissing(example: "# first\n")
        try file.createIfMissing(example: "# second\n")
        let created = try OpenFile(file.path, flags: O_RDONLY)
        #expect(try created.readAll(limit: 100) == Array("# first\n".utf8))
        #expect(try created.status().st_mode & 0o777 == 0o600)
        #expect(try file.read(with: reader).mounts.isEmpty)
    }

    @Test func appendedTablesAreChecked() throws {
        try file.append("[mounts.a]\nmountpoint = \"/a\"\n", checkedBy: reader)
        try file.append("[mounts.b]\nmountpoint = \"/b\"\n", checkedBy: reader)
        #expect(try file.read(with: reader).mounts.map(\.name) == ["a", "b"])
        for text in [
            "[mounts.a]\nmountpoint = \"/c\"\n", "[mounts.c]\nmountpoint = \"/a\"\n", "[mounts.c]\n",
        ] {
            #expect(throws: ConfigurationError.self) { try file.append(text, checkedBy: reader) }
        }
        let text = try OpenFile(file.path, flags: O_RDONLY).readAll(limit: 1000)
        #expect(
            String(decoding: text, as: UTF8.self)
                == "[mounts.a]\nmountpoint = \"/a\"\n\n[mounts.b]\nmountpoint = \"/b\"\n")
    }

    @Test func linkIsFollowed() throws {
        try folder.write([], to: "dotfile")
        #expect(chmod(folder.path("dotfile"), 0o600) == 0)
        _ = try folder.makeFolder("chatfs")
        #expect(symlink("../dotfile", file.path) == 0)
        try file.append("[mounts.a]\nmountpoint = \"/a\"\n", checkedBy: reader)
        #expect(try folder.read("dotfile") == Array("[mounts.a]\nmountpoint = \"/a\"\n".utf8))
        #expect(unlink(folder.path("dotfile")) == 0)
        try file.createIfMissing(example: "# new\n")
        #expect(throws: ConfigurationError.self) {
            try file.append("[mounts.a]\nmountpoint = \"/a\"\n", checkedBy: reader)
        }
        var status = stat()
        #expect(lstat(file.path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func concurrentAppendsAreAllKept() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask { [file, reader] in
                    try await ThreadPool.shared.run { () throws(ConfigurationError) in
                        try file.append(
                            "[mounts.a\(number)]\nmountpoint = \"/a\(number)\"\n", checkedBy: reader)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try file.read(with: reader).mounts.count == 8)
    }

    @Test func fileThatOthersCanWriteIsRefused() throws {
        try file.createIfMissing(example: "")
        #expect(chmod(file.path, 0o620) == 0)
        let error = try #require(throws: ConfigurationError.self) { try file.read(with: reader) }
        #expect(error.code == .access)
    }

    @Test func pipeOrLargeFileIsRefused() throws {
        #expect(mkdir(folder.path("chatfs"), 0o700) == 0)
        #expect(mkfifo(file.path, 0o600) == 0)
        #expect(throws: ConfigurationError.self) { try file.read(with: reader) }
        #expect(unlink(file.path) == 0)
        #expect(truncate(file: file.path, to: 2 << 20))
        #expect(throws: ConfigurationError.self) { try file.read(with: reader) }
    }

    @Test func mistakeNamesTheFile() throws {
        try file.createIfMissing(example: "a = 1\n")
        let error = try #require(throws: ConfigurationError.self) { try file.read(with: reader) }
        #expect(error.sentence == "\(file.path): Line 1: unknown key a")
    }

    private func truncate(file path: String, to size: UInt64) -> Bool {
        (try? OpenFile(path, flags: O_WRONLY | O_CREAT).truncate(to: size)) != nil
    }
}
