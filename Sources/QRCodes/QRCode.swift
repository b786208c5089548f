/// A QR code as a square of dark and light modules, without the quiet zone around it.
public struct QRCode: Hashable, Sendable {
    /// The number of modules of each side, 21 to 177 (ISO/IEC 18004).
    public let width: Int
    /// Row by row, true if dark.
    private let isDark: [Bool]

    /// Returns nil for a size that no code has.
    init?(width: Int, isDark: [Bool]) {
        guard (21...177).contains(width), width % 4 == 1, isDark.count == width * width else { return nil }
        self.width = width
        self.isDark = isDark
    }

    /// Positions outside are the light quiet zone.
    public subscript(row: Int, column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isDark[row * width + column]
    }

    /// The width of the light border that readers require, in modules.
    public static let quietZone = 4
}
