@_spi(_Unicode) import Swift

/// Sanitises file names from other people, so that they fit any folder and are safe to print on a terminal.
public enum SafeFileName {
    /// Longest file name on Linux, in UTF-8 bytes.
    public static let maxLength = 255

    /// Returns the safe form of a file name; nil if nothing is left.
    ///
    /// Only the part after the last `/` or `\` counts. Removes control, invisible (`VisibleText`) and
    /// bidirectional characters, leading dots and spaces, and trailing spaces and dots. Replaces look-alikes
    /// of a slash, and a leading `-`, by `_`. The result is NFC of at most 255 bytes; a longer name is cut
    /// before its extension. Idempotent.
    public static func make(from name: String) -> String? {
        // By scalars: in a `/` with a combining accent, one character, the kernel sees a `/`.
        let scalars = name.unicodeScalars
        guard let end = scalars.lastIndex(where: { !isSlash($0) }) else { return nil }
        let whole = scalars[...end]
        let start = whole.lastIndex(where: isSlash).map { whole.index(after: $0) } ?? whole.startIndex
        return made(of: whole[start...])
    }

    private static func isSlash(_ scalar: Unicode.Scalar) -> Bool { scalar == "/" || scalar == "\\" }

    /// Returns the safe form of a title such as a person's name. Slashes and leading dots become `_` instead
    /// of cutting, so that `x/Alice` differs from Alice. Otherwise like `make`.
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
        // Normalise after removals, which may join a letter and its accent.
        let isComposed = kept.allSatisfy { $0.value < 0x300 || $0 == "\u{FFFD}" }
        var safe = isComposed ? kept[...] : Array(String(scalars: kept[...])._nfc)[...]
        while let first = safe.first, isDroppedAtEnds(first) { safe.removeFirst() }
        while let end = safe.last, isDroppedAtEnds(end) { safe.removeLast() }
        guard let first = safe.first else { return nil }
        if first == "-" { safe[safe.startIndex] = "_" }
        return shortened(String(scalars: safe), to: maxLength)
    }

    /// Cuts `name` between characters before its extension, to at most `limit` UTF-8 bytes.
    public static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        let (stem, suffix) = split(name)
        let kept = suffix.utf8.count < limit / 2 ? suffix : ""
        let whole = kept.isEmpty ? name[...] : stem
        let capacity = limit - kept.utf8.count
        var end = endOfCharacters(of: whole, fitting: capacity)
        // A single letter with hundreds of accents.
        if end == whole.startIndex { end = endOfScalars(of: whole, fitting: capacity) }
        // Also drop a joiner left at the end.
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

    // Move an index and cut once; removing characters one by one would copy the rest each time.

    /// End of the whole characters that fit.
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

    /// Inserts ` (number)` before the extension: `report (2).pdf`, `a (2).tar.gz`.
    public static func numbered(_ name: String, _ number: Int) -> String { marked(name, "\(number)") }

    /// Returns the name, with a number if it is taken, and adds it to the taken names.
    public static func free(_ name: String, _ taken: inout Set<String>) -> String {
        var (free, number) = (name, 1)
        while !taken.insert(free).inserted {
            number += 1
            free = numbered(name, number)
        }
        return free
    }

    /// Inserts a word in parentheses before the extension.
    public static func marked(_ name: String, _ word: String) -> String {
        let mark = " (\(word))"
        let (stem, suffix) = split(shortened(name, to: maxLength - mark.utf8.count))
        return String(stem) + mark + suffix
    }

    /// Splits into stem and extension with its dot. Keeps `.tar.gz` and similar together.
    public static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = lastDot(of: name), dot != name.startIndex else { return (name[...], "") }
        if let inner = name.utf8.index(dot, offsetBy: -4, limitedBy: name.startIndex),
            inner != name.startIndex, isDot(inner, of: name), isTar(name.utf8[inner..<dot])
        {
            return (name[..<inner], name[inner...])
        }
        return (name[..<dot], name[dot...])
    }

    /// The last dot that is a whole character.
    private static func lastDot(of name: String) -> String.Index? {
        var rest = name.utf8[...]
        while let place = rest.lastIndex(of: UInt8(ascii: ".")) {
            if isDot(place, of: name) { return place }
            rest = rest[..<place]
        }
        return nil
    }

    /// A dot with a combining accent, or after a prepending sign, is part of another character.
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

    // Check ASCII before Unicode properties, here and in `isDropped`: this runs for each character of every
    // name in a folder.

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
        // Line and paragraph separators, interlinear annotations.
        case 0x2028, 0x2029, 0xFFF9...0xFFFB: true
        // Bidirectional marks, embeddings, overrides and isolates.
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // Noncharacters.
        case 0xFDD0...0xFDEF: true
        default: scalar.value & 0xFFFE == 0xFFFE
        }
    }

    private static func replaced(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        // Slash look-alikes: fraction, division, box drawing, mathematical, big, dotted, stroke, small,
        // full-width, musical, very heavy. Then those of a backslash.
        case 0x2044, 0x2215, 0x2571, 0x27CB, 0x29F8, 0x2E4A, 0x31D3, 0xFF0F, 0x1D23A, 0x1F67C: "_"
        case 0x2216, 0x2572, 0x27CD, 0x29F5, 0x29F9, 0xFE68, 0xFF3C, 0x1D20F: "_"
        // Blank braille cell.
        case 0x2800: " "
        default: scalar
        }
    }
}
