/// A QR code as a square of dark and light modules, without the quiet zone around it.
public struct QRCode: Hashable, Sendable {
    /// Modules of each side: 21 to 177 (ISO/IEC 18004).
    public let width: Int
    /// Row by row, true where dark.
    private let isDark: [Bool]

    /// nil for a number of modules that no code has.
    init?(width: Int, isDark: [Bool]) {
        guard (21...177).contains(width), width % 4 == 1, isDark.count == width * width else { return nil }
        self.width = width
        self.isDark = isDark
    }

    /// What is outside is the quiet zone: light.
    public subscript(row: Int, column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isDark[row * width + column]
    }

    /// Light modules around a code, without which readers do not find it.
    public static let quietZone = 4
}
