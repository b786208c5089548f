/// The pixels of a small picture, decoded by a process of its own (`PictureProcess`).
public struct PreviewPixels: Hashable, Sendable {
    public let width: Int
    public let height: Int
    /// Bytes of red, green and blue, row by row without space between.
    public let bytes: [UInt8]

    /// Nil when that process wrote something else: both sides as 16 bits, the higher one first, and so many pixels.
    init?(_ output: [UInt8], side: Int) {
        guard output.count > 4 else { return nil }
        let sides = [0, 2].map { Int(output[$0]) << 8 | Int(output[$0 + 1]) }
        guard sides.allSatisfy({ (1...side).contains($0) }), output.count == 4 + 3 * sides[0] * sides[1]
        else {
            return nil
        }
        (width, height) = (sides[0], sides[1])
        bytes = Array(output[4...])
    }

    /// What that process writes; nil for a picture that is none of these.
    static func output(width: Int, height: Int, _ pixels: [UInt8]) -> [UInt8]? {
        guard 1...4096 ~= width, 1...4096 ~= height, pixels.count == 3 * width * height else { return nil }
        return [width, height].flatMap {
            [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)]
        }
            + pixels
    }
}
