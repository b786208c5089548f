import QRCodes

/// A generated picture of a sun over the sea, as a PNG of indexed colours (PNG specification 1.2).
enum SampleImage {
    static let width = 480
    static let height = 320

    /// The bytes of the PNG, always the same; about 154 kB, so it is sent within a message.
    static func png() -> [UInt8] {
        PNG.file(width: width, height: height, bits: 8, colours: 3, palette: palette(), rows: pixels())
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
}
