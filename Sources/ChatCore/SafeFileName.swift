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
        let scalars = name.unicodeScalars
        guard let end = scalars.lastIndex(where: { !isSlash($0) }) else { return nil }
        let whole = scalars[...end]
        let start = whole.lastIndex(where: isSlash).map { whole.index(after: $0) } ?? whole.startIndex
        return made(of: whole[start...])
    }

    private static func isSlash(_ scalar: Unicode.Scalar) -> Bool { scalar == "/" || scalar == "\\" }

    /// The safe form of a name that is no path, as that of a person: slashes and dots in front become `_`,
    /// so that nothing of it is cut away and `x/Alice` is not Alice. Otherwise as `make`.
    public static func make(fromTitle title: String) -> String? {
        var kept: [Unicode.Scalar] = []
        for scalar in title.unicodeScalars where !isDropped(scalar) {
            kept.append(isSlash(scalar) ? "_" : scalar)
        }
        var visible = VisibleText.removingInvisible(kept)
        for index in visible.indices {
            guard isDroppedAtEnds(visible[index]) else { break }
            if visible[index] == "." { visible[index] = "_" }
        }
        return made(of: visible)
    }

    private static func made(of scalars: some Sequence<Unicode.Scalar>) -> String? {
        var kept: [Unicode.Scalar] = []
        for scalar in scalars where !isDropped(scalar) { kept.append(replaced(scalar)) }
        kept = VisibleText.removingInvisible(kept)
        // Composed after the dropping, which may bring a letter and its accent together.
        let isComposed = kept.allSatisfy { $0.value < 0x300 || $0 == "\u{FFFD}" }
        var safe = isComposed ? kept[...] : Array(String(scalars: kept[...])._nfc)[...]
        while let first = safe.first, isDroppedAtEnds(first) { safe.removeFirst() }
        while let end = safe.last, isDroppedAtEnds(end) { safe.removeLast() }
        guard let first = safe.first else { return nil }
        if first == "-" { safe[safe.startIndex] = "_" }
        return shortened(String(scalars: safe), to: maxLength)
    }

    /// `name` with at most `limit` bytes of UTF-8, cut between characters before the extension.
    public static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        let (stem, suffix) = split(name)
        let kept = suffix.utf8.count < limit / 2 ? suffix : ""
        let whole = kept.isEmpty ? name[...] : stem
        let capacity = limit - kept.utf8.count
        var end = endOfCharacters(of: whole, fitting: capacity)
        // One letter under hundreds of accents.
        if end == whole.startIndex { end = endOfScalars(of: whole, fitting: capacity) }
        // A joiner that joins nothing any more goes as well.
        let scalars = whole.unicodeScalars
        while end > whole.startIndex {
            let last = scalars.index(before: end)
            guard
                isDroppedAtEnds(scalars[last]) || scalars[last].properties.isDefaultIgnorableCodePoint
            else { break }
            end = last
        }
        return String(whole[..<end]) + kept
    }

    // An index moves, and the text is cut once: removing its last character or scalar makes a copy of all others.

    /// The end of as many whole characters as fit.
    private static func endOfCharacters(of name: Substring, fitting limit: Int) -> String.Index {
        var end = name.startIndex
        while end < name.endIndex {
            let next = name.index(after: end)
            guard name.utf8.distance(from: name.startIndex, to: next) <= limit else { break }
            end = next
        }
        return end
    }

    private static func endOfScalars(of name: Substring, fitting limit: Int) -> String.Index {
        var end = name.utf8.index(name.startIndex, offsetBy: limit, limitedBy: name.endIndex) ?? name.endIndex
        while end < name.endIndex, UTF8.isContinuation(name.utf8[end]) { end = name.utf8.index(before: end) }
        return end
    }

    /// `name` with ` (number)` before its extension: `report (2).pdf`, `a (2).tar.gz`.
    public static func numbered(_ name: String, _ number: Int) -> String { marked(name, "\(number)") }

    /// `name` with a word in parentheses before its extension.
    public static func marked(_ name: String, _ word: String) -> String {
        let mark = " (\(word))"
        let (stem, suffix) = split(shortened(name, to: maxLength - mark.utf8.count))
        return String(stem) + mark + suffix
    }

    /// Stem and extension with its dot. `.tar.gz` and its kin stay together.
    public static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = lastDot(of: name), dot != name.startIndex else { return (name[...], "") }
        if let inner = name.utf8.index(dot, offsetBy: -4, limitedBy: name.startIndex),
            inner != name.startIndex, isDot(inner, of: name), isTar(name.utf8[inner..<dot])
        {
            return (name[..<inner], name[inner...])
        }
        return (name[..<dot], name[dot...])
    }

    /// The last dot that is a character.
    private static func lastDot(of name: String) -> String.Index? {
        var rest = name.utf8[...]
        while let place = rest.lastIndex(of: UInt8(ascii: ".")) {
            if isDot(place, of: name) { return place }
            rest = rest[..<place]
        }
        return nil
    }

    /// A dot with an accent on it is another character, and so is one behind a sign that belongs to what follows.
    private static func isDot(_ place: String.Index, of name: String) -> Bool {
        guard name.utf8[place] == UInt8(ascii: "."), name[place] == "." else { return false }
        guard place != name.startIndex, !UTF8.isASCII(name.utf8[name.utf8.index(before: place)]) else {
            return true
        }
        return name.index(before: name.index(after: place)) == place
    }

    private static func isTar(_ bytes: Substring.UTF8View) -> Bool {
        zip(bytes, ".tar".utf8).allSatisfy { $0 | ($0 >= UInt8(ascii: "A") ? 0x20 : 0) == $1 }
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
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // What will never be a character.
        case 0xFDD0...0xFDEF: true
        default: scalar.value & 0xFFFE == 0xFFFE
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
