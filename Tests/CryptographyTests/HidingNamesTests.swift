import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

@Suite("Encrypted files in any folder")
struct HidingNamesTests {
    @Test(
        "absolute and relative paths work",
        arguments: ["\u{301}a", "a\u{600}", "é"])
    func folders(name: String) throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder(name)
        let bytes = Vectors.bytes(100_000)
        let plain = try folder.write(bytes, to: "\(name)/\(name)")
        let encrypted = folder.path("\(name)/\(name).encrypted")
        let arguments = try CryptoFile.encrypt(from: plain, to: encrypted)
        try CryptoFile.decrypt(from: encrypted, to: folder.path("\(name)/back"), arguments: arguments)
        #expect(try folder.read("\(name)/back") == bytes)
        #expect(
            Set(try folder.names(in: name).map { Array($0.utf8) })
                == Set([name, "\(name).encrypted", "back"].map { Array($0.utf8) }))
    }

    @Test("a bare name means the current folder")
    func relative() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try #require(chdir(folder.path) == 0)
            try folder.write([1, 2, 3], to: "plain")
            let arguments = try CryptoFile.encrypt(from: "plain", to: "encrypted")
            try CryptoFile.decrypt(from: "./encrypted", to: "back", arguments: arguments)
            #expect(try folder.read("back") == [1, 2, 3])
            #expect(try folder.names() == ["back", "encrypted", "plain"])
            try #require(chdir("/") == 0)
        }
    }
}
