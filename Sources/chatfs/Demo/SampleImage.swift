/// A generated picture of a sun over the sea, as a PNG of indexed colours (PNG specification 1.2).
enum SampleImage {
    static let width = 480
    static let height = 320

    /// The bytes of the PNG, always the same; about 154 kB, so it is sent within a message.
    static func png() -> [UInt8] {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        // Width, height, 8 bits each, indexed, deflate, adaptive filters, not interlaced.
        bytes += chunk("IHDR", bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [8, 3, 0, 0, 0])
        bytes += chunk("PLTE", palette())
        bytes += chunk("IDAT", stored(pixels()))
        bytes += chunk("IEND", [])
        return bytes
    }

    /// 64 colours for the sky, 64 for the sea, one for the sun.
    private static func palette() -> [UInt8] {
        var colours: [UInt8] = []
        for shade in UInt8(0)..<64 { colours += [30 + shade * 3, 60 + shade * 2, 140 + shade] }
        for shade in UInt8(0)..<64 { colours += [10 + shade, 50 + shade * 2, 90 + shade * 2] }
        return colours + [255, 214, 102]
    }

    /// Rows from the top, each after its filter byte 0.
    private static func pixels() -> [UInt8] {
        let horizon = height * 3 / 5
        var bytes: [UInt8] = []
        for y in 0..<height {
            bytes.append(0)
            for x in 0..<width {
                let (dx, dy) = (x - width / 2, y - horizon + 20)
                if y < horizon {
                    bytes.append(dx * dx + dy * dy < 70 * 70 ? 128 : UInt8(y * 63 / horizon))
                } else {
                    // Waves that grow towards the viewer.
                    let depth = y - horizon + 1
                    let wave = (x * 24 / (depth + 12) + y * 5) % 16
                    bytes.append(UInt8(64 + min(63, depth * 40 / (height - horizon) + wave)))
                }
            }
        }
        return bytes
    }

    /// A zlib stream of stored blocks without compression (RFC 1950, RFC 1951 3.2.4).
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let part = rest.prefix(65_535)
            rest = rest.dropFirst(part.count)
            let length = UInt16(part.count)
            stream.append(rest.isEmpty ? 1 : 0)
            for value in [length, ~length] { stream += [UInt8(value & 0xFF), UInt8(value >> 8)] }
            stream += part
        } while !rest.isEmpty
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return stream + bigEndian(high << 16 | low)
    }

    private static func chunk(_ type: String, _ bytes: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + bytes
        var remainder: UInt32 = ~0
        for byte in body {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        return bigEndian(UInt32(bytes.count)) + body + bigEndian(~remainder)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
