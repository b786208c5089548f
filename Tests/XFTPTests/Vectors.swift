import Base
import Cryptography
import TestSupport
import Testing

@testable import XFTP

/// Values computed by the official client and confirmed by an independent implementation.
enum Vectors {
    static let key = (0..<32).map { UInt8($0) }
    static let nonce = (100..<124).map { UInt8($0) }
    static let sessionID = key
    static let senderSeed = [UInt8](repeating: 1, count: 32)
    static let recipientSeed = [UInt8](repeating: 2, count: 32)
    static let chunkDigest = bytes("ca08c8b22b8a119088b3b744b4b9e1e903d74e94487f4dafa6a4b8dd5562132b")
    static let fileDigest = bytes(
        "4ac8459ea92bda64f03a085a3855af2ef9b58482b5a23bfc4a36cd4d4b09fd42"
            + "05ab578b21dd6a0f264fd6f4d3f8a2fc65fa22fe688a9173aa03c2318e621ca4")

    static func bytes(_ hexadecimal: String) -> [UInt8] { Hexadecimal.decode(hexadecimal) ?? [] }

    /// The 64 KiB of the file "a.txt" with content "hello" under `key` and `nonce`.
    static func encryptedChunk() throws -> [UInt8] {
        var bytes = FileHeader.encode(name: "a.txt", contentSize: 5) + Array("hello".utf8)
        bytes += [UInt8](repeating: UInt8(ascii: "#"), count: 65_536 - 16 - bytes.count)
        var box = try StreamBox(key: key, nonce: nonce)
        bytes.withUnsafeMutableBytes { box.seal($0) }
        return bytes + box.tag()
    }

    /// Returns the message of a block.
    static func message(in block: [UInt8]?) throws -> [UInt8] {
        let block = try #require(block)
        return try #require(Block.unpad(block))
    }

    static let address = "xftp://LcJUMfVhwD8yxjAiSaDzzGF3-kLG4Uh0Fl_ZIjrRwjI=@localhost:8000"

    static func description() throws -> FileDescription {
        let replica = FileDescription.Replica(
            relay: try #require(RelayAddress(address)), id: [UInt8](repeating: 9, count: 16),
            key: try SigningKey(seed: recipientSeed).pkcs8)
        return FileDescription(
            party: .recipient, digest: fileDigest, key: key, nonce: nonce,
            chunks: [.init(number: 1, size: 65_536, digest: chunkDigest, replicas: [replica])])
    }
}

extension SeededGenerator {
    /// Changes, removes, repeats or adds a few bytes.
    mutating func mutated(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &self), at: place)
            case 3: bytes.removeSubrange(place...)
            case 4:
                let end = min(bytes.count, place + Int.random(in: 0...40, using: &self))
                bytes.insert(
                    contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &self))
            default:
                let mark = "-:[]{}'\"#%\n &?=\\".utf8.randomElement(using: &self) ?? 0
                bytes.insert(mark, at: place)
            }
        }
        return bytes
    }
}
