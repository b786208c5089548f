/// The mark of the Voice Memos app of iOS and macOS in the M4A files that it makes. They are called "New Recording 3.m4a",
/// the same in the user's language, or by the place where they were made.
enum VoiceMemo {
    /// The content of the tag of the encoder begins with this.
    private static let encoder = Array("com.apple.VoiceMemos".utf8)
    /// Of the tag's value: lengths and types before the text.
    private static let longestTag = 256

    /// Whether the tag of the encoder (`moov/udta/meta/ilst/©too`) names that app. Reads boxes only; false for what is
    /// broken.
    static func isMade(size: UInt64, _ content: MediaContent) throws -> Bool {
        guard let movie = try MovieFile.box("moov", in: 0..<size, content),
            let user = try MovieFile.box("udta", in: movie, content),
            let meta = try MovieFile.box("meta", in: user, content),
            // A version and flags come before the boxes within.
            meta.upperBound - meta.lowerBound > 4,
            let list = try MovieFile.box("ilst", in: meta.lowerBound + 4..<meta.upperBound, content),
            let tag = try MovieFile.box([0xA9, 0x74, 0x6F, 0x6F], in: list, content)
        else { return false }
        let length = Int(min(tag.upperBound - tag.lowerBound, UInt64(longestTag)))
        let bytes = try content(tag.lowerBound, length)
        return bytes.indices.contains { bytes[$0...].starts(with: encoder) }
    }
}
