import Base

/// Writes pictures as PNG files (ISO/IEC 15948), without compression.
public enum PNG {
    /// Returns a file that is not interlaced.
    /// - Parameters:
    ///   - bits: The bits per sample.
    ///   - colours: The colour type: 0 for greyscale, 3 for indices into the palette.
    ///   - palette: Red, green and blue of each colour, or nothing.
    ///   - rows: The rows from the top, each after its filter type, 0 for none.
    public static func file(
        width: Int, height: Int, bits: UInt8, colours: UInt8, palette: [UInt8] = [], rows: [UInt8]
    ) -> [UInt8] {
        var header: [UInt8] = []
        header.append(bigEndian: UInt32(width))
        header.append(bigEndian: UInt32(height))
        // Default methods.
        header += [bits, colours, 0, 0, 0]
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", header)
        if !palette.isEmpty { file += chunk("PLTE", palette) }
        file += chunk("IDAT", stored(rows))
        file += chunk("IEND", [])
        return file
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        var chunk: [UInt8] = []
        chunk.append(bigEndian: UInt32(bytes.count))
        let checked = Array(name.utf8) + bytes
        chunk += checked
        chunk.append(bigEndian: checksum(checked))
        return chunk
    }

    /// Returns a zlib stream of stored blocks (RFC 1950, RFC 1951 3.2.4).
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: bytes.count, by: 65_535) {
            let block = bytes[start..<min(start + 65_535, bytes.count)]
            let length = UInt16(block.count)
            stream.append(start + block.count == bytes.count ? 1 : 0)
            stream += [UInt8(length & 0xFF), UInt8(length >> 8)]
            stream += [UInt8(~length & 0xFF), UInt8(~length >> 8)]
            stream += block
        }
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        stream.append(bigEndian: high << 16 | low)
        return stream
    }

    /// CRC-32 of IEEE 802.3.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var remainder: UInt32 = .max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 {
                remainder = remainder >> 1 ^ (remainder & 1 == 1 ? 0xEDB8_8320 : 0)
            }
        }
        return ~remainder
    }
}
