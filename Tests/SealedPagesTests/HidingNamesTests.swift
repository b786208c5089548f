import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import SealedPages

@Suite("Sealed databases in any folder")
struct HidingNamesTests {
    @Test(
        "they are created and reopened without other files",
        arguments: ["\u{301}a", "a\u{600}", "per%20cent?#&", "é"])
    func folders(name: String) throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder(name)
        let key = SecretBytes(randomCount: 32)
        let path = folder.path("\(name)/\(name).db")
        for text in ["a", "b"] {
            let database = try Database(path: path, migrations: [notes], key: key)
            try database.put(text == "a" ? 1 : 2, text)
            database.close()
        }
        let database = try Database(path: path, migrations: [notes], key: key)
        #expect(try database.texts() == ["a", "b"])
        database.close()
        #expect(try folder.names(in: name).map { Array($0.utf8) } == [Array("\(name).db".utf8)])
        #expect(try !folder.read("\(name)/\(name).db").contains(mark: "CREATE TABLE"))
    }

    @Test("a bare name means the current folder")
    func relative() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try #require(chdir(folder.path) == 0)
            let key = SecretBytes(randomCount: 32)
            let database = try Database(path: "notes.db", migrations: [notes], key: key)
            try database.put(1, "here")
            database.close()
            #expect(try folder.names() == ["notes.db"])
            #expect(
                try Database(path: folder.path("notes.db"), migrations: [notes], key: key).texts() == ["here"]
            )
            try #require(chdir("/") == 0)
        }
    }

    @Test("existing files are not changed")
    func taken() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([1, 2, 3], to: "notes.db")
        #expect(try !NewDatabase.place([4, 5], at: path))
        #expect(try folder.read("notes.db") == [1, 2, 3] && folder.names() == ["notes.db"])
        #expect(try NewDatabase.place([4, 5], at: folder.path("new.db")))
        #expect(try folder.read("new.db") == [4, 5])
        #expect(try OpenFile(folder.path("new.db"), flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
        let error = #expect(throws: SystemError.self) {
            try NewDatabase.place([], at: folder.path("none/x.db"))
        }
        #expect(error?.code == ENOENT)
        #expect(try folder.names() == ["new.db", "notes.db"])
    }
}
