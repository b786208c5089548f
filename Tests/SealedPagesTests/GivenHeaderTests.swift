import Base
import Cryptography
import Testing

@testable import SealedPages

/// A header page created by another program from its description (Python's hashlib).
@Suite("A header page of another program")
struct GivenHeaderTests {
    private static let text =
        "4368617446532d70616765730d0a1a0a01000000001000002800000000000000808182838485868788898a8b8c8d8e8f"
        + "909192939495969798999a9b9c9d9e9f08410ce282783021964515f86c73b27db1c744bb471464b0693580c4a68cf230"
        + "071a38981e5667c85ec2597eaf79589c859b6e3bd037d984e6d2166880bd3cd8"
    private let bytes: [UInt8]
    private let key = SecretBytes([UInt8](0..<32))
    private static let size = Int64(2 * FileLayout.pageSize)

    init() throws { bytes = try #require(Hexadecimal.decode(Self.text)) }

    private func parse(
        _ bytes: [UInt8], size: Int64 = Self.size, key: SecretBytes? = nil
    ) -> Result<DatabaseHeader, SealedPagesError> {
        Result { () throws(SealedPagesError) in
            try DatabaseHeader.parse(bytes, size: size, dataKey: key ?? self.key)
        }
    }

    private func code(_ result: Result<DatabaseHeader, SealedPagesError>) -> SealedPagesErrorCode? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test("it round-trips and derives the record key")
    func content() throws {
        let header = try parse(bytes).get()
        #expect(header.identity == [UInt8](0x80...0x9F))
        let page = header.encoded(provenBy: key)
        #expect(page.count == 4096 && page.starts(with: bytes))
        #expect(page[bytes.count...].allSatisfy { $0 == 0 })
        #expect(
            Hexadecimal.encode(header.recordKey(from: key).withUnsafeBytes { Array($0) })
                == "e7b901f5ce3cb2a3aa78ba55edddec244f6edb7a3f12fb3ffd9c22b520cb6d04")
    }

    @Test("every changed bit is detected")
    func bits() {
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(code(parse(damaged)) == (bit / 8 < 16 ? .notADatabase : .damaged), "bit \(bit)")
        }
    }

    @Test("truncated files differ from other files")
    func cut() {
        for count in 0..<bytes.count {
            let expected: SealedPagesErrorCode = count < 16 ? .notADatabase : .damaged
            #expect(code(parse(Array(bytes[..<count]), size: Int64(count))) == expected, "\(count)")
        }
        for size in [0, 128, 4096, 8191] as [Int64] { #expect(code(parse(bytes, size: size)) == .damaged) }
        #expect(code(parse(bytes, size: 8192)) == nil && code(parse(bytes, size: .max)) == nil)
        #expect(code(parse(Array("SQLite format 3\0".utf8) + bytes)) == .notSealed)
        #expect(code(parse([])) == .notADatabase)
    }

    @Test("another key differs from damage")
    func keys() {
        for bit in 0..<256 {
            var other = [UInt8](0..<32)
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(code(parse(bytes, key: SecretBytes(other))) == .wrongKey)
        }
    }

    /// The checksum is correct.
    @Test("other versions and sizes mean a newer program", arguments: [16, 19, 20, 21, 24, 27])
    func newer(place: Int) {
        var other = Array(bytes[..<96])
        other[place] ^= 0x40
        #expect(code(parse(other + BLAKE2b.hash(other))) == .newerVersion)
    }
}
