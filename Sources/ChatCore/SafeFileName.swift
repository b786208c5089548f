@_spi(_Unicode) import Swift

/// File names that crossed a border: what another person wrote becomes a name that any folder can
/// hold and any terminal can print.
public enum SafeFileName {
    /// Longest name of a Linux filesystem, in bytes of UTF-8.
    public static let maxLength = 255

    /// The safe form of the name of a file, or nil when nothing of it is left.
    ///
    /// Only what follows the last `/` or `\` counts. Control characters, invisible ones (`VisibleText`) and
    /// those that change the direction of text are dropped, leading dots and spaces and trailing spaces and
    /// dots too. What looks like a slash becomes `_`, and so does a `-` in front, which programs take for an
    /// option. The result is in Unicode NFC and has at most 255 bytes; a longer name loses the end of its
    /// stem, never its extension. Applying it twice changes nothing.
    public static func make(from name: String) -> String? {
        // By scalars: in a `/` with an accent on it, a character of its own, the kernel sees the `/`.
        made(of: name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? [])
    }

    /// The safe form of a name that is no path, as that of a person: slashes and dots in front become `_`,
    /// so that nothing of it is cut away and `x/Alice` is not Alice. Otherwise as `make`.
    public static func make(fromTitle title: String) -> String? {
        let scalars = title.unicodeScalars.map { $0 == "/" || $0 == "\\" ? "_" : $0 }
        let visible = VisibleText.removingInvisible(scalars.filter { !isDropped($0) })
        let dots = visible.prefix { isDroppedAtEnds($0) }
        return made(of: dots.map { $0 == "." ? "_" : $0 } + visible.dropFirst(dots.count))
    }

    private static func made(of scalars: some Sequence<Unicode.Scalar>) -> String? {
        let kept = VisibleText.removingInvisible(scalars.lazy.filter { !isDropped($0) }.map(replaced))
        // Composed after the dropping, which may bring a letter and its accent together.
        let isComposed = kept.allSatisfy(\.isASCII)
        var safe = isComposed ? kept[...] : Array(String(String.UnicodeScalarView(kept))._nfc)[...]
        while let first = safe.first, isDroppedAtEnds(first) { safe.removeFirst() }
        while let end = safe.last, isDroppedAtEnds(end) { safe.removeLast() }
        guard let first = safe.first else { return nil }
        if first == "-" { safe[safe.startIndex] = "_" }
        return shortened(String(String.UnicodeScalarView(safe)), to: maxLength)
    }

    /// `name` with at most `limit` bytes of UTF-8, cut between characters before the extension.
    public static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        let (stem, suffix) = split(name)
        let kept = suffix.utf8.count < limit / 2 ? suffix : ""
        let whole = kept.isEmpty ? name[...] : stem
        let capacity = limit - kept.utf8.count
        var short = prefix(of: whole, fitting: capacity)
        if short.isEmpty {
            // One letter under hundreds of accents.
            short = whole
            while short.utf8.count > capacity { short.unicodeScalars.removeLast() }
        }
        // A joiner that joins nothing any more goes as well.
        while let end = short.unicodeScalars.last,
            isDroppedAtEnds(end) || end.properties.isDefaultIgnorableCodePoint
        {
            short.unicodeScalars.removeLast()
        }
        return String(short) + kept
    }

    /// As many whole characters as fit. From the front: dropping them from the end of a long name one by one
    /// takes time in proportion to the square of its length, since each has to be looked for again.
    private static func prefix(of name: Substring, fitting limit: Int) -> Substring {
        var end = name.startIndex
        while end < name.endIndex {
            let next = name.index(after: end)
            guard name.utf8.distance(from: name.startIndex, to: next) <= limit else { break }
            end = next
        }
        return name[..<end]
    }

    /// `name` with ` (number)` before its extension: `report (2).pdf`, `a (2).tar.gz`.
    public static func numbered(_ name: String, _ number: Int) -> String {
        let mark = " (\(number))"
        let (stem, suffix) = split(shortened(name, to: maxLength - mark.utf8.count))
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

    // Most names are ASCII, and Unicode's tables are looked up for each character of every name of a folder:
    // here and in `isDropped`, what is known without them comes first.

    private static func isDroppedAtEnds(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2E, 0x20, 0x09...0x0D: true
        case 0..<0x80: false
        default: scalar.properties.isWhitespace
        }
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: false
        case 0..<0x20, 0x7F..<0xA0: true
        // Line and paragraph separator, annotations between lines.
        case 0x2028, 0x2029, 0xFFF9...0xFFFB: true
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm.
        default: scalar.properties.isBidiControl || scalar.properties.isNoncharacterCodePoint
        }
    }

    private static func replaced(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        // Fraction and division slash, box drawing, mathematical diagonals, big, dotted, stroke, small, full
        // width, musical, very heavy; the likes of a backslash.
        case 0x2044, 0x2215, 0x2571, 0x27CB, 0x29F8, 0x2E4A, 0x31D3, 0xFF0F, 0x1D23A, 0x1F67C: "_"
        case 0x2216, 0x2572, 0x27CD, 0x29F5, 0x29F9, 0xFE68, 0xFF3C, 0x1D20F: "_"
        // A braille cell without dots looks like nothing at all.
        case 0x2800: " "
        default: scalar
        }
    }
}
