@_spi(_Unicode) import Swift

/// File names that crossed a border: what another person wrote becomes a name that any folder can
/// hold and any terminal can print.
public enum SafeFileName {
    /// Longest name of a Linux filesystem, in bytes of UTF-8.
    public static let longest = 255

    /// The safe form of `name`, or nil when nothing of it is left.
    ///
    /// Only what follows the last `/` or `\` counts. Control characters, NUL and the characters that
    /// change the direction of text are dropped, leading dots and spaces and trailing spaces and dots
    /// too. The result is in Unicode NFC and has at most 255 bytes; a longer name loses the end of its
    /// stem, never its extension. Applying it twice changes nothing.
    public static func make(from name: String) -> String? {
        // By scalars: in a `/` with an accent on it, a character of its own, the kernel sees the `/`.
        let last = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? []
        // Composed after the dropping, which may bring a letter and its accent together.
        let kept = String(String.UnicodeScalarView(last.filter { !isDropped($0) }))
        var safe = ArraySlice(Array(kept._nfc))
        while let first = safe.first, isDroppedAtEnds(first) { safe.removeFirst() }
        while let end = safe.last, isDroppedAtEnds(end) { safe.removeLast() }
        guard !safe.isEmpty else { return nil }
        return shortened(String(String.UnicodeScalarView(safe)), to: longest)
    }

    /// `name` with at most `limit` bytes of UTF-8, cut between characters before the extension.
    public static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        let (stem, suffix) = split(name)
        let kept = suffix.utf8.count < limit / 2 ? suffix : ""
        let whole = kept.isEmpty ? name[...] : stem
        let room = limit - kept.utf8.count
        var short = whole
        while short.utf8.count > room { short.removeLast() }
        if short.isEmpty {
            // One letter under hundreds of accents.
            short = whole
            while short.utf8.count > room { short.unicodeScalars.removeLast() }
        }
        while let end = short.unicodeScalars.last, isDroppedAtEnds(end) { short.unicodeScalars.removeLast() }
        return String(short) + kept
    }

    /// `name` with ` (number)` before its extension: `report (2).pdf`, `a (2).tar.gz`.
    public static func numbered(_ name: String, _ number: Int) -> String {
        let mark = " (\(number))"
        let (stem, suffix) = split(shortened(name, to: longest - mark.utf8.count))
        return String(stem) + mark + suffix
    }

    /// Stem and extension with its dot. `.tar.gz` and its kin stay together.
    public static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name[...], "") }
        let stem = name[..<dot]
        if stem.lowercased().hasSuffix(".tar"), stem.count > 4 {
            let inner = stem.index(stem.endIndex, offsetBy: -4)
            return (name[..<inner], name[inner...])
        }
        return (stem, name[dot...])
    }

    private static func isDroppedAtEnds(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm.
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // Line and paragraph separator, byte order mark, tags, non-characters.
        case 0x2028, 0x2029, 0xFEFF, 0xE0000...0xE007F, 0xFFFE, 0xFFFF: true
        default: false
        }
    }
}
