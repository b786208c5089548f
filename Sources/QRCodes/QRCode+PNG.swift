import Base

extension QRCode {
    /// Returns a black and white picture (PNG, ISO/IEC 15948) with the quiet zone.
    /// - Parameter scale: The side of a module in pixels.
    public func png(scale: Int = 8) -> [UInt8] {
        let modules = width + 2 * Self.quietZone
        let pixels = modules * scale
        var rows: [UInt8] = []
        for row in 0..<modules {
            var line = [UInt8](repeating: 0xFF, count: (pixels + 7) / 8)
            for column in 0..<modules where self[row - Self.quietZone, column - Self.quietZone] {
                for pixel in column * scale..<(column + 1) * scale {
                    line[pixel / 8] &= ~(0x80 >> UInt8(pixel % 8))
                }
            }
            // Each line begins with its filter type: none.
            for _ in 0..<scale { rows += [0] + line }
        }
        var header: [UInt8] = []
        header.append(bigEndian: UInt32(pixels))
        header.append(bigEndian: UInt32(pixels))
        // One bit per pixel, greyscale, default methods, not interlaced.
        header += [1, 0, 0, 0, 0]
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return signature + Self.chunk("IHDR", header) + Self.chunk("IDAT", Self.stored(rows))
            + Self.chunk("IEND", [])
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        var chunk: [UInt8] = []
        chunk.append(bigEndian: UInt32(bytes.count))
        let checked = Array(name.utf8) + bytes
        chunk += checked
        chunk.append(bigEndian: checksum(checked))
        return chunk
    }

    /// Returns a zlib stream (RFC 1950) of stored blocks. A code has only a few kilobytes.
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
