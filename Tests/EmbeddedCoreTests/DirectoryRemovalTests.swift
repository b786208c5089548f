import ChatCore
import Cryptography
import Glibc
import TestSupport
import Testing

@testable import EmbeddedCore

/// The removal of a data directory.
@Suite struct DirectoryRemovalTests {
    @Test func relayKeepsItsKey() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("data")
        _ = try DataDirectory(path, key: SecretBytes([UInt8](repeating: 9, count: 32)))
        try folder.write([1], to: "data/keys")
        _ = try folder.makeFolder("data/relay")
        try folder.write([1], to: "data/relay/server.crt")
        let error = #expect(throws: ChatError.self) { try DirectoryRemoval(path) }
        #expect(error?.sentence.contains("\(path)/relay") == true)
        #expect(try folder.read("data/keys") == [1])
        // A relay with a key of its own stays usable.
        try folder.write([2], to: "data/relay/keys")
        #expect(try DirectoryRemoval(path).remove(forgetting: {}) == ["relay"])
        #expect(try folder.read("data/relay/keys") == [2] && access(path + "/keys", F_OK) != 0)
    }
}
