/// Removes invisible characters, which could make equal-looking names differ or a name look empty.
///
/// Removes default-ignorable characters (zero-width spaces, soft hyphens, fillers, tags, …), except where
/// they are part of the spelling:
///
/// - in emoji: variation selectors after an emoji, joiners between two, tags of a flag;
/// - joiners next to a virama of Indic scripts, and the non-joiner between letters of joining scripts (needed
///   in Persian);
/// - variation selectors after ideographs (in Japanese names) and Mongolian letters.
public enum VisibleText {
    /// Returns `text` without invisible characters. Idempotent.
    public static func removingInvisible(_ text: some Sequence<Unicode.Scalar>) -> [Unicode.Scalar] {
        let scalars = Array(text)
        guard scalars.contains(where: isInvisible) else { return scalars }
        var kept: [Unicode.Scalar] = []
        kept.reserveCapacity(scalars.count)
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            if !isInvisible(scalar) {
                kept.append(scalar)
            } else if let tags = flagTags(scalars[index...], after: index > 0 ? scalars[index - 1] : nil) {
                kept.append(contentsOf: tags)
                index += tags.count
                continue
            } else if isSpelling(scalar, after: kept, before: scalars[(index + 1)...]) {
                kept.append(scalar)
            }
            index += 1
        }
        return kept
    }

    /// Whether the scalar is invisible by itself. Checks common ranges before Unicode properties.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0xAD, 0xAE..<0x34F, 0x3165..<0xFE00, 0xFFFD: false
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether an invisible scalar is part of the spelling in its context.
    private static func isSpelling(
        _ scalar: Unicode.Scalar, after kept: [Unicode.Scalar], before rest: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let last = kept.last else { return false }
        let next = rest.first
        switch scalar.value {
        case 0x200C:
            return hasVirama(kept.reversed())
                || isOfJoiningScript(lastLetter(of: kept)) && isOfJoiningScript(next)
        case 0x200D:
            return hasVirama(kept.reversed())
                || hasVirama(rest) && lastLetter(of: kept)?.properties.isAlphabetic == true
                || endsEmoji(kept) && next.map(isEmoji) == true
        case 0xFE0E, 0xFE0F:
            let isKeycap = next?.value == 0x20E3 && last.isASCII && last.properties.isEmoji
            return isEmoji(last) || isKeycap || last.properties.isIdeographic
        case 0xFE00...0xFE0D, 0xE0100...0xE01EF: return last.properties.isIdeographic
        case 0x180B...0x180F: return (0x1820...0x18AA).contains(last.value)
        default: return false
        }
    }

    // MARK: - Emoji

    /// ASCII digits and signs are emoji only as bases of keycaps.
    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmoji && !scalar.isASCII
    }

    /// Whether the text ends with an emoji, including a variation selector or flag tags.
    private static func endsEmoji(_ kept: [Unicode.Scalar]) -> Bool {
        guard let last = kept.last else { return false }
        return isEmoji(last) || last.value == 0xFE0F && kept.dropLast().last.map(isEmoji) == true
            || last.value == 0xE007F
    }

    /// Returns the tags of a subdivision flag: black flag, place code, end tag. Other tags could hide text.
    private static func flagTags(
        _ scalars: ArraySlice<Unicode.Scalar>, after last: Unicode.Scalar?
    ) -> ArraySlice<Unicode.Scalar>? {
        guard last?.value == 0x1F3F4 else { return nil }
        let code = scalars.prefix(7).prefix { isTagOfCode($0) }
        guard (3...6).contains(code.count), scalars.dropFirst(code.count).first?.value == 0xE007F else {
            return nil
        }
        return scalars.prefix(code.count + 1)
    }

    private static func isTagOfCode(_ scalar: Unicode.Scalar) -> Bool {
        (0xE0030...0xE0039).contains(scalar.value) || (0xE0061...0xE007A).contains(scalar.value)
    }

    // MARK: - Scripts

    /// Whether the first marks include a virama; normalisation reorders marks.
    private static func hasVirama(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
        for scalar in scalars {
            switch scalar.properties.canonicalCombiningClass {
            case .virama: return true
            case .notReordered: return false
            default: continue
            }
        }
        return false
    }

    private static func lastLetter(of kept: [Unicode.Scalar]) -> Unicode.Scalar? {
        kept.last { $0.properties.generalCategory != .nonspacingMark }
    }

    /// Letters of joining scripts.
    private static func isOfJoiningScript(_ scalar: Unicode.Scalar?) -> Bool {
        guard let scalar, scalar.properties.isAlphabetic else { return false }
        switch scalar.value {
        // Arabic and Syriac with extensions, N'Ko, Mandaic.
        case 0x0600...0x077F, 0x07C0...0x07FF, 0x0840...0x08FF: return true
        // Mongolian, Phags-pa, Arabic presentation forms.
        case 0x1820...0x18AA, 0xA840...0xA871, 0xFB50...0xFDFF, 0xFE70...0xFEFC: return true
        // Manichaean, Psalter Pahlavi, Hanifi Rohingya, Sogdian to Chorasmian, Adlam.
        case 0x10AC0...0x10AE4, 0x10B80...0x10B91, 0x10D00...0x10D23, 0x10F30...0x10FCB, 0x1E900...0x1E943:
            return true
        default: return false
        }
    }
}
