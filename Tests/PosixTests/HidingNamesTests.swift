import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

/// Folder names that begin with a combining accent, which forms one Swift character with the slash before it, or end in
/// a prepended sign, which does so with the slash after it.
@Suite("Names that merge with a slash as characters")
struct HidingNamesTests {
    private static let names = ["\u{301}a", "a\u{600}", "\u{200D}", "e\u{301}", "é", "\r"]
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("private folders can be created below them")
    func folders() throws {
        for name in Self.names {
            let path = folder.path("\(name)/\(name)/inner")
            let made = try PrivateFolder(path, purpose: "test")
            try made.write(Array(name.utf8), to: "file")
            #expect(access(path + "/file", F_OK) == 0)
        }
        let found = try folder.names()
        #expect(Set(found.map { Array($0.utf8) }) == Set(Self.names.map { Array($0.utf8) }))
        for name in Self.names {
            #expect(try folder.read("\(name)/\(name)/inner/file") == Array(name.utf8))
        }
    }

    @Test("their filesystem is found for a missing name")
    func filesystems() {
        for name in Self.names {
            let missing = folder.path("\(name)/none/\(name)")
            #expect(NetworkFilesystem.name(at: missing) == NetworkFilesystem.name(at: folder.path))
        }
        #expect(NetworkFilesystem.name(at: "none-such") == nil)
        #expect(NetworkFilesystem.name(at: "/none-such") == NetworkFilesystem.name(at: "/"))
    }

    @Test("a program in them is found and run")
    func programs() async throws {
        for name in Self.names.dropLast() {
            let place = try folder.makeFolder(name)
            try folder.write(Array("#!/bin/sh\nexec /bin/sleep 1000\n".utf8), to: "\(name)/chatfs-script")
            #expect(chmod(place + "/chatfs-script", 0o700) == 0)
            #expect(
                ProgramSearch.path(of: "chatfs-script", in: [place])?.hasSameBytes(
                    as: place + "/chatfs-script") == true)
        }
        let error = await #expect(throws: SystemError.self) {
            _ = try await ChildProcess.start(.init(folder.path("\u{301}a/none")))
        }
        // By its name without folders.
        #expect(error?.operation == "start none")
    }

    @Test("they are separate folders of PATH")
    func searchPath() async {
        await #expect(processExitsWith: .success) {
            setenv("PATH", "/\u{301}a:relative:/a\u{600}:/usr/bin::\u{301}/x", 1)
            let found = ProgramSearch.folders().map { Array($0.utf8) }
            #expect(found == ["/\u{301}a", "/a\u{600}", "/usr/bin"].map { Array($0.utf8) })
        }
    }
}
