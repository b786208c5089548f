import Base
import Cryptography
import Testing

@testable import XFTP

@Suite struct FileDescriptionTests {
    @Test func textMatchesTheOfficialProgram() throws {
        let text = try Vectors.description().text
        #expect(text.utf8.count == 469)
        #expect(
            SHA256.hash(Array(text.utf8))
                == Vectors.bytes("b065dd44e3061de4e876cdb4e7924462bb433ef0af2a1a3e8a6055b7a3d4ff87"))
        #expect(try FileDescription(parsing: text) == Vectors.description())
    }

    /// Three chunks on two relays: the second chunk on both, the last of another size.
    private static func manySided() throws -> FileDescription {
        func replica(_ host: String, _ byte: UInt8) throws -> FileDescription.Replica {
            let fingerprint = Base64URL.encode([UInt8](repeating: 7, count: 32))
            return .init(
                relay: try #require(RelayAddress("xftp://\(fingerprint)@\(host)")),
                id: [UInt8](repeating: byte, count: 16),
                key: try SigningKey(seed: [UInt8](repeating: byte, count: 32)).pkcs8)
        }
        func digest(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
        return FileDescription(
            party: .sender, digest: Vectors.fileDigest, key: Vectors.key, nonce: Vectors.nonce,
            chunks: [
                .init(number: 1, size: 4 << 20, digest: digest(1), replicas: [try replica("b.example", 1)]),
                .init(
                    number: 2, size: 4 << 20, digest: digest(2),
                    replicas: [try replica("b.example", 2), try replica("a.example:5443", 3)]),
                .init(number: 3, size: 1 << 20, digest: digest(3), replicas: [try replica("10.0.0.1", 4)]),
            ])
    }

    @Test func relaysAndReplicasRoundTripInOrder() throws {
        let description = try Self.manySided()
        let lines = description.text.split(separator: "\n").map(String.init)
        #expect(lines.first == "chunkSize: 4mb")
        #expect(lines.last == "size: 9mb")
        let servers = lines.filter { $0.hasPrefix("  server: ") }.compactMap { $0.split(separator: "@").last }
        #expect(servers == ["10.0.0.1", "a.example:5443", "b.example"])
        let chunks = lines.filter { $0.hasPrefix("  - ") }
        #expect(
            chunks.map { $0.split(separator: ":").count } == [5, 3, 4, 4], "size and digest are said once")
        #expect(chunks[0].hasSuffix(":1mb"))
        let read = try FileDescription(parsing: description.text)
        #expect(read.text == description.text)
        #expect(read.chunks.map(\.size) == description.chunks.map(\.size))
        #expect(Set(read.chunks[1].replicas) == Set(description.chunks[1].replicas))
        #expect(ChunkLayout(read.places)?.offsets == [0, 4 << 20, 8 << 20, 9 << 20])
        #expect(read.relays.count == 3)
    }

    @Test func redirectsRoundTrip() throws {
        var description = try Vectors.description()
        description.redirect = .init(size: 12_345_678, digest: Vectors.fileDigest)
        let text = description.text
        #expect(
            text.contains(
                "party: recipient\nredirect:\n  digest: \(Base64URL.encode(Vectors.fileDigest))\n"
                    + "  size: 12345678\nreplicas:\n"))
        #expect(try FileDescription(parsing: text) == description)
    }

    /// Texts that the official parser reads as equal.
    private static let variations: [(String, @Sendable (String) -> String)] = [
        ("CRLF", { $0.replacing("\n", with: "\r\n") }),
        ("no last newline", { String($0.dropLast()) }),
        (
            "no padding of base64",
            { $0.replacing("==", with: "=").replacing("=\n", with: "\n").replacing("=:", with: ":") }
        ),
        ("unknown keys", { "future: [1, {a: b}]\n" + $0 + "zebra: yes\n" }),
        ("comments and empty lines", { "# hello\n\n" + $0.replacing("party", with: "# x\n\nparty") }),
        ("other order", { $0.split(separator: "\n").reordered() }),
        ("document marks", { "---\n" + $0 + "...\n" }),
        ("quotes", { $0.replacing("64kb", with: "'65536'").replacing("recipient", with: "\"recipient\"") }),
        (
            "deeper lists",
            {
                $0.replacing("\n- ", with: "\n  - ").replacing("\n  - 1", with: "\n    - 1").replacing(
                    "\n  server", with: "\n    server")
            }
        ),
    ]

    @Test(arguments: variations.indices)
    func otherSpellingsAreRead(index: Int) throws {
        let (name, change) = Self.variations[index]
        let text = change(try Vectors.description().text)
        #expect(text != (try Vectors.description().text))
        #expect(try FileDescription(parsing: text) == Vectors.description(), "\(name)")
    }

    @Test func flowStyleIsRead() throws {
        let fields = try Vectors.description().text.split(separator: "\n")
        let value = { (key: String) in
            String(fields.first { $0.hasPrefix(key + ": ") }?.dropFirst(key.count + 2) ?? "")
        }
        let chunk = fields.first { $0.hasPrefix("  - ") }?.dropFirst(4) ?? ""
        let text = """
            {"size":"64kb", chunkSize: 64kb, digest: \(value("digest")), party: recipient,
             key: \(value("key")), nonce: '\(value("nonce"))', redirect: null,
             "replicas": [{server: "\(Vectors.address)", chunks: ["\(chunk)"]}]}
            """
        #expect(try FileDescription(parsing: text) == Vectors.description())
    }

    /// Texts that the official parser rejects, or that would be expensive.
    private static let refused: [(String, @Sendable (String) -> String)] = [
        ("a password", { $0.replacing("@localhost", with: ":password@localhost") }),
        ("a gap in the numbers", { $0.replacing("- 1:", with: "- 2:") }),
        ("number zero", { $0.replacing("- 1:", with: "- 0:") }),
        ("a sum that is wrong", { $0.replacing("\nsize: 64kb", with: "\nsize: 128kb") }),
        ("a plain number as size", { $0.replacing("64kb", with: "65536") }),
        ("a plain number as file size", { $0.replacing("\nsize: 64kb", with: "\nsize: 65536") }),
        ("a plus in base64", { $0.replacing("-", with: "+") }),
        ("no party", { $0.replacing("party: recipient\n", with: "") }),
        ("another party", { $0.replacing("recipient", with: "observer") }),
        ("a short key", { $0.replacing("key: AAEC", with: "key: ") }),
        (
            "a chunk without digest",
            { $0.replacing(":ygjIsiuKEZCIs7dEtLnh6QPXTpRIf02vpqS43VViEys=", with: "") }
        ),
        ("a chunk size that is none", { $0.replacing("chunkSize: 64kb", with: "chunkSize: 65kb") }),
        ("a giant chunk", { $0.replacing("64kb", with: "4gb") }),
        ("no replicas", { String($0.prefix { $0 != "-" }) }),
        ("a tag", { $0.replacing("party: ", with: "party: !!str ") }),
        ("an anchor", { $0.replacing("party: ", with: "party: &a ") }),
        ("a key twice", { $0 + "party: sender\n" }),
        ("two documents", { $0 + "---\n" + $0 }),
        ("a tab in the wrong place", { $0.replacing("\n- chunks", with: "\n\t\t- chunks: x\n- chunks") }),
        (
            "a second chunk with a redirect",
            {
                $0.replacing(
                    "replicas:",
                    with: "redirect:\n  digest: \(Base64URL.encode(Vectors.fileDigest))\n  size: 1\nreplicas:"
                )
                .replacing("64kb", with: "128kb").replacing("server", with: "server")
                .replacing("  size: 1\n", with: "  size: one\n")
            }
        ),
        ("nothing", { _ in "" }),
        ("only text", { _ in "hello" }),
        (
            "a hundred levels",
            { _ in String(repeating: "[", count: 100) + String(repeating: "]", count: 100) }
        ),
        (
            "a hundred levels in blocks",
            { _ in (0..<100).map { String(repeating: " ", count: $0) + "a:\n" }.joined() }
        ),
        ("a hundred thousand lists", { _ in String(repeating: "- ", count: 100_000) }),
        ("a hundred thousand braces", { $0 + "x: " + String(repeating: "{a: ", count: 100_000) }),
    ]

    @Test(arguments: refused.indices)
    func invalidDescriptionsGiveAnError(index: Int) throws {
        let (name, change) = Self.refused[index]
        let text = change(try Vectors.description().text)
        do {
            _ = try FileDescription(parsing: text)
            Issue.record("\(name) was accepted")
        } catch {
            #expect(error.code == .malformedDescription)
            #expect(error.sentence.hasSuffix("."))
            #expect(!error.sentence.contains("AAEC"), "no key in an error")
        }
    }

    @Test func redirectOfTwoChunksIsRejected() throws {
        var description = try Self.manySided()
        description.redirect = .init(size: 1, digest: Vectors.fileDigest)
        #expect(throws: XFTPError.self) { try FileDescription(parsing: description.text) }
    }

    @Test func numberLikeNonceIsQuoted() throws {
        #expect(YAMLValue.resolvesToOther("12345678901234567890123456789012"))
        #expect(YAMLValue.resolvesToOther("1e5"))
        #expect(!YAMLValue.resolvesToOther("1e5:"))
        #expect(!YAMLValue.resolvesToOther("64kb"))
        var description = try Vectors.description()
        description.nonce = try #require(Base64URL.decode("---45678901234567890123456789012"))
        #expect(description.text.contains("nonce: '---45678901234567890123456789012'\n"))
        #expect(try FileDescription(parsing: description.text) == description)
        description.nonce = try #require(Base64URL.decode("12345678901234567890123456789012"))
        #expect(try FileDescription(parsing: description.text) == description)
    }

    @Test func debugOutputHidesSecrets() throws {
        var dumped = ""
        dump(try Vectors.description(), to: &dumped)
        #expect(!(dumped + "\(try Vectors.description())").contains("AAEC"))
        #expect(!dumped.contains("9, 9, 9"))
    }
}

extension Array where Element == Substring {
    /// The replicas first, then the other keys in reverse order.
    fileprivate func reordered() -> String {
        let replicas = filter { $0.hasPrefix("replicas") || $0.hasPrefix("-") || $0.hasPrefix(" ") }
        let others = filter { !replicas.contains($0) }
        return (replicas + others.reversed()).joined(separator: "\n") + "\n"
    }
}
