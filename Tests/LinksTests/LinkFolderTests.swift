import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Links

@Suite("The files of the folder of links")
struct LinkFolderTests {
    private let files: TemporaryFolder
    private let folder: LinkFolder

    init() throws {
        files = try TemporaryFolder()
        folder = LinkFolder(path: files.path("links-3"))
    }

    private var names: [String] { (try? files.names(in: "links-3")) ?? [] }

    private func staged(_ count: Int) throws -> FileSourceLocation {
        FileSourceLocation(
            path: try files.write([UInt8](repeating: 7, count: count), to: "staged"),
            arguments: CryptoFile.freshArguments())
    }

    @Test("kept files have the exact length", arguments: [0, 15, 16, 20, 21, 22])
    func lengths(count: Int) throws {
        let staged = try staged(count)
        if count == 21 {
            let name = try folder.keep(staged, size: 5)
            #expect(try files.read("links-3/\(name)").count == 21)
            #expect(access(staged.path, F_OK) == 0, "who keeps it removes the other name")
            return
        }
        let error = #expect(throws: ChatError.self) { try folder.keep(staged, size: 5) }
        #expect(error?.code == .file(.damaged))
        #expect(names.isEmpty)
        #expect(count != 16 || (try? folder.keep(staged, size: 0)) != nil, "an empty file has a tag too")
    }

    @Test("only CryptoFiles are kept")
    func strange() throws {
        var plain = try staged(21)
        plain.arguments = nil
        #expect(throws: ChatError.self) { try folder.keep(plain, size: 5) }
        symlink(plain.path, files.path("link"))
        mkdir(files.path("folder"), 0o700)
        let arguments = CryptoFile.freshArguments()
        for name in ["link", "missing"] {
            #expect(throws: SystemError.self) {
                try folder.keep(FileSourceLocation(path: files.path(name), arguments: arguments), size: 5)
            }
        }
        // The pipe has no writer, so a reader would wait for ever.
        mkfifo(files.path("pipe"), 0o600)
        for name in ["folder", "pipe"] {
            #expect(throws: ChatError.self) {
                try folder.keep(FileSourceLocation(path: files.path(name), arguments: arguments), size: 4080)
            }
        }
        #expect(names.isEmpty)
    }

    @Test("the folder is private and no link")
    func modes() throws {
        _ = try folder.write([1])
        var status = stat()
        #expect(stat(folder.path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
        let other = try files.makeFolder("other")
        symlink(other, files.path("links-4"))
        #expect(throws: (any Error).self) { try LinkFolder(path: files.path("links-4")).write([1]) }
        #expect(try files.names(in: "other").isEmpty)
    }

    @Test("written files are CryptoFiles with unique names", arguments: [0, 1, 65_536, 70_000])
    func written(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let (first, second) = (try folder.write(bytes), try folder.write(bytes))
        #expect(first.name != second.name && first.arguments != second.arguments)
        try CryptoFile.decrypt(
            from: folder.path + "/" + first.name, to: files.path("plain"), arguments: first.arguments)
        #expect(try files.read("plain") == bytes)
        #expect(throws: CryptographyError.self) {
            try CryptoFile.decrypt(
                from: folder.path + "/" + first.name, to: files.path("no"), arguments: second.arguments)
        }
    }

    @Test("plain copies are named, recreated and removed")
    func plain() throws {
        let written = try folder.write([1, 2, 3])
        let source = FileSourceLocation(path: folder.path + "/" + written.name, arguments: written.arguments)
        let first = try folder.makePlain(7, named: "ä b.txt", of: source)
        #expect(first.hasSuffix("/plain-7/ä b.txt"))
        #expect(try files.read("links-3/plain-7/ä b.txt") == [1, 2, 3])
        let second = try folder.makePlain(7, named: "c.txt", of: source)
        #expect(access(first, F_OK) != 0 && access(second, F_OK) == 0)
        folder.removePlain(7)
        folder.removePlain(8)
        #expect(names == [written.name])
        let unencrypted = FileSourceLocation(path: source.path, arguments: nil)
        #expect(throws: ChatError.self) { try folder.makePlain(7, named: "a", of: unencrypted) }
        // A damaged file leaves no plaintext.
        try files.write([1, 2, 3], to: "links-3/\(written.name)")
        #expect(throws: CryptographyError.self) { try folder.makePlain(9, named: "a", of: source) }
        folder.removePlain(9)
        #expect(names == [written.name])
    }

    @Test("a sweep removes everything that no row names")
    func sweep() throws {
        try folder.sweep(keeping: ["a"])
        #expect(access(folder.path, F_OK) != 0, "nothing is made")
        let kept = try folder.write([1])
        let stray = try folder.write([2])
        let source = FileSourceLocation(path: folder.path + "/" + stray.name, arguments: stray.arguments)
        _ = try folder.makePlain(7, named: "a", of: source)
        try files.write([1], to: "links-3/plain-x")
        #expect(LinkFolder.isPlainCopy("plain-7") && !LinkFolder.isPlainCopy(kept.name))
        try folder.sweep(keeping: [kept.name])
        #expect(names == [kept.name])
        folder.remove(kept.name)
        folder.remove(kept.name)
        #expect(names.isEmpty)
    }
}
