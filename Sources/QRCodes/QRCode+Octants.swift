extension QRCode {
    /// Octants of Unicode 16: four rows of two modules in each character. Modules are square, so a code of 85 modules
    /// (a link to a phone) fits 80 columns and 24 lines. Few terminals have them.
    func octantLines(on background: Background, _ edge: Int) -> [String] {
        stride(from: -edge, to: width + edge, by: 4).map { row in
            stride(from: -edge, to: width + edge, by: 2).map { column in
                let bits = (0..<8).filter { isWritten(row + $0 / 2, column + $0 % 2, background) }
                return Self.octant(bits.reduce(0) { $0 | 1 << UInt32($1) })
            }.joined()
        }
    }

    /// U+1CD00 and the following, in the order of the bits, without the patterns of other blocks.
    static func octant(_ bits: UInt32) -> String {
        if let other = others.first(where: { $0.bits == bits }) { return text(other.scalar) }
        return text(0x1CD00 + bits - UInt32(others.count { $0.bits < bits }))
    }

    private static func text(_ scalar: UInt32) -> String { Unicode.Scalar(scalar).map { String($0) } ?? " " }

    /// Patterns that Unicode had before, or has among the halves of characters.
    private static let others: [(bits: UInt32, scalar: UInt32)] = [
        (0x00, 0x20), (0x01, 0x1CEA8), (0x02, 0x1CEAB), (0x03, 0x1FB82), (0x05, 0x2598), (0x0A, 0x259D),
        (0x0F, 0x2580), (0x14, 0x1FBE6), (0x28, 0x1FBE7), (0x3F, 0x1FB85), (0x40, 0x1CEA3), (0x50, 0x2596),
        (0x55, 0x258C), (0x5A, 0x259E), (0x5F, 0x259B), (0x80, 0x1CEA0), (0xA0, 0x2597), (0xA5, 0x259A),
        (0xAA, 0x2590), (0xAF, 0x259C), (0xC0, 0x2582), (0xF0, 0x2584), (0xF5, 0x2599), (0xFA, 0x259F),
        (0xFC, 0x2586), (0xFF, 0x2588),
    ]
}
