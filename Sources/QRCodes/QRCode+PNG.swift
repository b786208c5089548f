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
        // One bit per pixel.
        return PNG.file(width: pixels, height: pixels, bits: 1, colours: 0, rows: rows)
    }
}
