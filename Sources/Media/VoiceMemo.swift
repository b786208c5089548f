/// Recognises M4A files of the Voice Memos app of iOS and macOS. Their names are localised forms of "New Recording
/// 3.m4a", or places.
enum VoiceMemo {
    /// The beginning of the encoder tag.
    private static let encoder = Array("com.apple.VoiceMemos".utf8)
    /// The maximum tag length in bytes, including lengths and types before the text.
    private static let longestTag = 256

    /// Returns whether the encoder tag (`moov/udta/meta/ilst/©too`) names that app. Reads only boxes. Returns false for
    /// broken files.
    static func isMade(size: UInt64, _ content: MediaContent) throws -> Bool {
        guard let movie = try MovieFile.box("moov", in: 0..<size, content),
            let user = try MovieFile.box("udta", in: movie, content),
            let meta = try MovieFile.box("meta", in: user, content),
            // A version and flags precede the inner boxes.
            meta.upperBound - meta.lowerBound > 4,
            let list = try MovieFile.box("ilst", in: meta.lowerBound + 4..<meta.upperBound, content),
            let tag = try MovieFile.box([0xA9, 0x74, 0x6F, 0x6F], in: list, content)
        else { return false }
        let length = Int(min(tag.upperBound - tag.lowerBound, UInt64(longestTag)))
        let bytes = try content(tag.lowerBound, length)
        return bytes.indices.contains { bytes[$0...].starts(with: encoder) }
    }
}
