import Base
import Cryptography
import Posix
import Testing

@testable import XFTP

/// Files of the official programs: description, encrypted chunks, plaintext.
@Suite struct OfficialFilesTests {
    /// Reads from the folder next to this source; `Bundle` needs all of Foundation.
    static func resource(_ path: String) throws -> [UInt8] {
        let folder = "\(#filePath)".split(separator: "/").dropLast().joined(separator: "/")
        return try OpenFile("/\(folder)/Resources/xftp/\(path)", flags: 0).readAll(limit: 16 << 20)
    }

    @Test(arguments: ["tiny", "mid"], ["recipient", "sender"])
    func officialDescriptionsRoundTrip(file: String, party: String) throws {
        let text = String(decoding: try Self.resource("\(file)/\(party).yaml"), as: UTF8.self)
        let description = try FileDescription(parsing: text)
        #expect(description.party.rawValue == party)
        #expect(description.text == text)
        #expect(try FileLink(parsing: FileLink(description).text).fileDescription == description)
    }

    @Test(arguments: ["tiny", "mid"])
    func officialChunksDecryptToThePlaintext(file: String) throws {
        let text = String(decoding: try Self.resource("\(file)/recipient.yaml"), as: UTF8.self)
        let description = try FileDescription(parsing: text)
        var stream: [UInt8] = []
        for chunk in description.chunks {
            let bytes = try Self.resource("\(file)/chunk\(chunk.number)")
            #expect(bytes.count == Int(chunk.size))
            #expect(SHA256.hash(bytes) == chunk.digest)
            stream += bytes
        }
        #expect(SHA512.hash(stream) == description.digest)
        var box = try StreamBox(key: description.key, nonce: description.nonce)
        let tag = Array(stream.suffix(16))
        stream.removeLast(16)
        stream.withUnsafeMutableBytes { box.open($0) }
        #expect(box.isAuthentic(tag))
        let header = try #require(
            FileHeader(stream: Array(stream.prefix(FileHeader.maxLength)), streamSize: description.size))
        let content = stream[Int(header.contentOffset)..<Int(header.contentOffset + header.contentSize)]
        #expect(Array(content) == (try Self.resource("\(file)/plain")))
        #expect(header.name == String(decoding: try Self.resource("\(file)/name"), as: UTF8.self))
        let fileSize = header.contentSize + header.contentOffset - 8
        #expect(ChunkPlan.fits(streamSize: description.size, content: header.contentSize))
        #expect(ChunkPlan.sizes(for: fileSize) == description.chunks.map(\.size))
    }
}
