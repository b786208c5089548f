import Base
import Cryptography
import Testing

@testable import XFTP

/// The sender chooses the length of a description, so its cost to the reader is bounded.
@Suite struct DescriptionLimitTests {
    private static let key = SigningKey.generate().pkcs8

    private static func relay(_ number: Int) -> RelayAddress {
        let fingerprint = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
        return RelayAddress(
            fingerprint: fingerprint, hosts: ["xftp\(number).relays.example.org"], port: 5443)
    }

    /// A description in the official form, of chunks of 4 MiB that are each on all relays.
    private static func description(chunks: Int, relays: Range<Int>) -> FileDescription {
        let addresses = relays.map(relay)
        return FileDescription(
            party: .recipient, digest: Vectors.fileDigest, key: Vectors.key, nonce: Vectors.nonce,
            chunks: (1...chunks).map { number in
                FileDescription.Chunk(
                    number: number, size: 4 << 20, digest: [UInt8](repeating: 1, count: 32),
                    replicas: addresses.map {
                        .init(
                            relay: $0, id: [UInt8](repeating: 2, count: 22) + id(number), key: key)
                    })
            })
    }

    private static func id(_ chunk: Int) -> [UInt8] { [UInt8(chunk >> 8 & 255), UInt8(chunk & 255)] }

    @Test func replicaWithTwoNumbersIsRejected() throws {
        var text = Self.description(chunks: 3, relays: 0..<2)
        for index in [0, 1] { text.chunks[2].replicas[index].id = text.chunks[0].replicas[index].id }
        expectRefusal(of: text.text, because: "chunk 3 is another chunk too")
        // The same ID on another relay is another chunk, and a replica may be repeated.
        text = Self.description(chunks: 2, relays: 0..<2)
        text.chunks[1].replicas = [text.chunks[1].replicas[0]]
        text.chunks[0].replicas = [text.chunks[0].replicas[1], text.chunks[0].replicas[1]]
        text.chunks[1].replicas[0].id = text.chunks[0].replicas[0].id
        #expect(try FileDescription(parsing: text.text).chunks.count == 2)
    }

    /// Returns a chunk with `replicas` replicas on one relay, the last one with the digest.
    private static func crowded(replicas: Int) throws -> String {
        let one = description(chunks: 1, relays: 0..<1).text
        let line = try #require(one.split(separator: "\n").first { $0.hasPrefix("  - ") })
        let bare = line.split(separator: ":").dropLast().joined(separator: ":") + "\n"
        return one.replacing(line, with: String(repeating: bare, count: replicas - 1) + line)
    }

    @Test func limitsAllowTenTimesOneGibibyte() throws {
        let official = Self.description(chunks: 256, relays: 0..<12)
        #expect(official.text.utf8.count * 10 < YAMLParser.longestText)
        #expect(official.chunks.count * 10 < FileDescription.maxChunks)
        #expect(official.relays.count * 10 < FileDescription.maxRelays)
        #expect(official.chunks[0].replicas.count * 10 < FileDescription.maxReplicasOfChunk)
        let read = try FileDescription(parsing: Self.description(chunks: 2560, relays: 0..<12).text)
        #expect(read.chunks.count == 2560)
        #expect(read.chunks.allSatisfy { $0.replicas.count == 12 })
        let onManyRelays = try FileDescription(parsing: Self.description(chunks: 2, relays: 0..<120).text)
        #expect(onManyRelays.relays.count == 120)
    }

    @Test func tooManyReplicasAreRejected() throws {
        let long = try Self.crowded(replicas: 46_000)
        #expect(long.utf8.count > 4_600_000)
        expectRefusal(of: long, because: "is too long")
        // As many as the text limit allows: the first replica beyond the limit ends it.
        let crowded = try Self.crowded(replicas: 40_000)
        #expect(crowded.utf8.count < YAMLParser.longestText)
        expectRefusal(of: crowded, because: "chunk 1 has more than 128 replicas")
    }

    @Test func replicaWithTheDigestComesFirst() throws {
        let text = try Self.crowded(replicas: FileDescription.maxReplicasOfChunk)
            .replacing("  - 1:AgIC", with: "  - 1:AwIC", maxReplacements: 3)
        let replicas = try FileDescription(parsing: text).chunks[0].replicas
        #expect(replicas.count == FileDescription.maxReplicasOfChunk)
        #expect(replicas.map { $0.id[0] } == [2, 3, 3, 3] + [UInt8](repeating: 2, count: 124))
        expectRefusal(
            of: try Self.crowded(replicas: FileDescription.maxReplicasOfChunk + 1),
            because: "more than 128 replicas")
    }

    @Test func tooManyRelaysOrChunksAreRejected() {
        expectRefusal(
            of: Self.description(chunks: 3, relays: 0..<100).text
                .replacing("replicas:\n", with: "replicas:\n" + Self.relays(200..<400)),
            because: "more than 256 relays")
        expectRefusal(
            of: Self.description(chunks: FileDescription.maxChunks + 1, relays: 0..<1).text,
            because: "a chunk is not written as")
    }

    /// More relays of the first chunk, as text.
    private static func relays(_ numbers: Range<Int>) -> String {
        let id = Base64URL.encode([UInt8](repeating: 2, count: 24))
        return numbers.map {
            "- chunks:\n  - 1:\(id):\(Base64URL.encode(key))\n  server: \(relay($0).text)\n"
                .replacing("- 1:", with: "- \($0 % 3 + 1):")
        }.joined()
    }

    private func expectRefusal(
        of text: String, because reason: String, at location: SourceLocation = #_sourceLocation
    ) {
        do {
            _ = try FileDescription(parsing: text)
            Issue.record("accepted", sourceLocation: location)
        } catch {
            #expect(error.code == .malformedDescription, sourceLocation: location)
            #expect(error.sentence.contains(reason), "\(error.sentence)", sourceLocation: location)
        }
    }

    @Test func tasksParseDescriptionsOnAPoolThread() async throws {
        let description = Self.description(chunks: 3, relays: 0..<2)
        #expect(try await FileDescription.parse(description.text) == description)
        #expect(try await FileLink.parse(FileLink(description).text).fileDescription == description)
        await #expect(throws: XFTPError.self) { try await FileLink.parse("simplex:/file#/?desc=x") }
    }
}
