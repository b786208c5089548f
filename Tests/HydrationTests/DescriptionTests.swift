import Base
import ChatCore
import Testing
import XFTP

@testable import Hydration

@Suite("File descriptions")
struct DescriptionTests {
    /// A well-formed description of one chunk on an unknown relay. `redirect` makes it lead to another description.
    private static func description(redirect: String = "") -> String {
        let word = { (count: Int) in Base64URL.encode([UInt8](repeating: 7, count: count)) }
        let key = "MC4CAQAwBQYDK2VwBCIEIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"
        return """
            chunkSize: 64kb
            digest: \(word(64))
            key: \(word(32))
            nonce: \(word(24))
            party: recipient
            \(redirect)replicas:
            - chunks:
              - 1:\(word(16)):\(key):\(word(32))
              server: xftp://\(word(32))@relay.invalid
            size: 64kb

            """
    }

    private static func source(_ text: String) throws -> XFTPSource {
        let client = XFTPClient(settings: XFTPClientSettings(policy: .everything))
        defer { client.close() }
        return try XFTPSource(ClaimedFile(description: text), client: client)
    }

    @Test func descriptionGivesItsChunks() throws {
        let chunks = try Self.source(Self.description()).chunks
        #expect(chunks.map(\.size) == [65_536])
        #expect(chunks[0].relay.contains("relay.invalid"))
    }

    @Test func redirectingDescriptionIsDamage() {
        let redirect = """
            redirect:
              digest: \(Base64URL.encode([UInt8](repeating: 9, count: 64)))
              size: 8388608

            """
        #expect {
            _ = try Self.source(Self.description(redirect: redirect))
        } throws: { error in
            // The reader gets EBADMSG with a sentence.
            FileProblem(error).kind == .damaged && !FileProblem(error).sentence.isEmpty
        }
    }
}
