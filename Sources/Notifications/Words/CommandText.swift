/// Removes hints about command lines, which do not help on a desktop.
enum CommandText {
    /// Removes sentences that name a command of `chatfs` or an option. Keeps the part before a colon that introduces a
    /// command. Returns `text` if nothing else would be left.
    static func removed(from text: String) -> String {
        let sentences = sentences(of: text)
        let kept = sentences.compactMap(withoutCommand)
        return kept.isEmpty ? text : kept.joined(separator: " ")
    }

    private static func withoutCommand(_ sentence: Substring) -> String? {
        guard let command = command(in: sentence) else { return String(sentence) }
        let before = sentence[..<command]
        guard let colon = before.lastIndex(of: ":"),
            before[before.index(after: colon)...].allSatisfy({ $0 == " " || $0 == "'" })
        else { return nil }
        return before[..<colon] + "."
    }

    /// Returns the start of `chatfs WORD` or `--WORD`.
    private static func command(in sentence: Substring) -> Substring.Index? {
        var index = sentence.startIndex
        while index < sentence.endIndex {
            let rest = sentence[index...]
            for mark in ["chatfs ", "--"] where rest.hasPrefix(mark) {
                if let next = rest.dropFirst(mark.count).first, next.isASCII, next.isLowercase {
                    return index
                }
            }
            index = sentence.index(after: index)
        }
        return nil
    }

    /// Splits at full stops before a space.
    private static func sentences(of text: String) -> [Substring] {
        var found: [Substring] = []
        var begin = text.startIndex
        var index = begin
        while index < text.endIndex {
            let next = text.index(after: index)
            if text[index] == ".", next < text.endIndex, text[next] == " " {
                found.append(text[begin..<next])
                begin = text.index(after: next)
            }
            index = next
        }
        if begin < text.endIndex { found.append(text[begin...]) }
        return found
    }
}
