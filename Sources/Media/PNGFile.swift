/// Parses a PNG from the decoding process and rebuilds it from its header, its pixels and our own texts. Programs thus
/// receive only pixels from that process (Portable Network Graphics, third edition, sections 5 and 11).
struct PNGFile {
    private let head: ArraySlice<UInt8>
    private let pixels: [ArraySlice<UInt8>]

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns nil for other formats than requested: 8 bits, RGB, not interlaced, at most `side` pixels wide and high.
    init?(_ bytes: [UInt8], side: Int) {
        guard bytes.starts(with: Self.signature) else { return nil }
        var rest = bytes[Self.signature.count...]
        var head: ArraySlice<UInt8>?
        var pixels: [ArraySlice<UInt8>] = []
        var isEnded = false
        while !isEnded {
            guard let chunk = Chunk(&rest) else { return nil }
            switch chunk.kind {
            case "IHDR":
                guard head == nil, Self.isWanted(chunk.data, side) else { return nil }
                head = chunk.data
            case "IDAT":
                guard head != nil else { return nil }
                pixels.append(chunk.data)
            case "IEND": isEnded = true
            default: break
            }
        }
        guard let head, !pixels.isEmpty else { return nil }
        self.head = head
        self.pixels = pixels
    }

    private static func isWanted(_ head: ArraySlice<UInt8>, _ side: Int) -> Bool {
        let head = Array(head)
        guard head.count == 13 else { return false }
        // Depth, colour type, compression, filter, interlace.
        let sides = [Chunk.number(head[0..<4]), Chunk.number(head[4..<8])]
        return sides.allSatisfy { (1...side).contains($0) } && head[8...] == [8, 2, 0, 0, 0]
    }

    /// Returns the file with texts (tEXt) before the pixels. Keywords and values are Latin-1.
    func bytes(texts: [(keyword: String, value: String)]) -> [UInt8] {
        var bytes = Self.signature
        Chunk.append("IHDR", head, to: &bytes)
        for text in texts {
            Chunk.append("tEXt", (Array(text.keyword.utf8) + [0] + Array(text.value.utf8))[...], to: &bytes)
        }
        for part in pixels { Chunk.append("IDAT", part, to: &bytes) }
        Chunk.append("IEND", [], to: &bytes)
        return bytes
    }

    /// A chunk of the file: length, kind, data, checksum.
    private struct Chunk {
        let kind: String
        let data: ArraySlice<UInt8>

        /// Takes a chunk from the front. Returns nil if it is incomplete or damaged.
        init?(_ rest: inout ArraySlice<UInt8>) {
            guard rest.count >= 12 else { return nil }
            let length = Self.number(rest.prefix(4))
            guard length <= rest.count - 12 else { return nil }
            let body = rest.dropFirst(4).prefix(4 + length)
            let sum = Self.number(rest.dropFirst(8 + length).prefix(4))
            guard UInt32(sum) == Self.checksum(body) else { return nil }
            kind = String(decoding: body.prefix(4), as: UTF8.self)
            data = body.dropFirst(4)
            rest = rest.dropFirst(12 + length)
        }

        static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

        static func append(_ kind: String, _ data: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
            bytes += bigEndian(UInt32(data.count))
            let start = bytes.count
            bytes += Array(kind.utf8) + data
            bytes += bigEndian(checksum(bytes[start...]))
        }

        private static func bigEndian(_ number: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }

        private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            ~bytes.reduce(~0) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ sum >> 8 }
        }

        /// CRC-32 of each byte, reflected polynomial 0xEDB88320.
        private static let table: [UInt32] = (0..<256).map { byte in
            (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 0 ? sum >> 1 : 0xEDB8_8320 ^ sum >> 1 }
        }
    }
}
