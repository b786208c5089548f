/// A preview that reveals nothing: a grey field, with a light triangle for a video. The apps need a preview to lay out
/// a message.
///
/// Written without a library, so that it always works: a baseline JPEG (ITU-T T.81) with one colour component and a
/// single grey in each block of 8 by 8 pixels.
enum NeutralPreview {
    private static let (columns, rows) = (20, 15)
    private static let (grey, light): (Int, Int) = (96, 208)

    static let picture = jpeg { _, _ in grey }
    static let video = jpeg { column, row in
        let (x, y) = (column - 7, abs(row - 7))
        return x >= 0 && x <= 7 && y <= 4 - (x + 1) / 2 ? light : grey
    }

    private static func jpeg(_ shade: (_ column: Int, _ row: Int) -> Int) -> [UInt8] {
        func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
            [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
        }
        let (width, height) = (columns * 8, rows * 8)
        var bytes: [UInt8] = [0xFF, 0xD8]
        // With a quantisation of 8, the coefficient of a grey block is that grey.
        bytes += segment(0xDB, [0] + [UInt8](repeating: 8, count: 64))
        bytes += segment(
            0xC0,
            [
                8, UInt8(height >> 8), UInt8(height & 0xFF), UInt8(width >> 8), UInt8(width & 0xFF), 1, 1,
                0x11, 0,
            ])
        // Nine codes of four bits for the lengths 0 to 8 of a difference, and one code of one bit for end of block.
        bytes += segment(0xC4, [0x00, 0, 0, 0, 9] + [UInt8](repeating: 0, count: 12) + Array(0...8))
        bytes += segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0])
        bytes += segment(0xDA, [1, 1, 0x00, 0, 63, 0])
        return bytes + blocks(shade) + [0xFF, 0xD9]
    }

    /// Each block as the difference to the previous one; the first to 128.
    private static func blocks(_ shade: (_ column: Int, _ row: Int) -> Int) -> [UInt8] {
        var bits: [UInt8] = []
        func add(_ value: Int, _ count: Int) {
            for place in (0..<count).reversed() { bits.append(UInt8(value >> place & 1)) }
        }
        var last = 128
        for row in 0..<rows {
            for column in 0..<columns {
                let difference = shade(column, row) - last
                last += difference
                let length = Int.bitWidth - abs(difference).leadingZeroBitCount
                add(length, 4)
                // Negative differences as the complement of their magnitude.
                add(difference < 0 ? difference + (1 << length) - 1 : difference, length)
                add(0, 1)
            }
        }
        while bits.count % 8 != 0 { bits.append(1) }
        return stride(from: 0, to: bits.count, by: 8).flatMap { start -> [UInt8] in
            let byte = bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | $1 }
            return byte == 0xFF ? [0xFF, 0] : [byte]
        }
    }
}
