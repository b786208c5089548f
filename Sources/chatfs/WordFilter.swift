/// Excludes lines of a log that cannot contain certain words, by their bytes, so that few lines are decoded. A value
/// without input and output.
///
/// Only ASCII is compared: a line with other bytes, or with escaped characters, may contain any word, because its letters have several forms.
struct WordFilter: Sendable {
    /// In lower case. Words that JSON may write in several forms are left out.
    private let words: [[UInt8]]
    private static let escape = Array("\\u".utf8)

    /// - Parameter words: In lower case.
    init(_ words: [String]) {
        self.words = words.map { Array($0.utf8) }.filter { $0.allSatisfy(Self.hasOneForm) }
    }

    /// Returns false if at least one of the words is not in the line.
    func mayFit(_ line: ArraySlice<UInt8>) -> Bool {
        line.withUnsafeBufferPointer { line in
            if words.allSatisfy({ Self.contains(line, $0) }) { return true }
            return line.contains { $0 >= 0x80 } || Self.contains(line, Self.escape)
        }
    }

    /// False for characters that are or may be escaped, and for all beyond ASCII.
    private static func hasOneForm(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): false
        default: byte > 0x20 && byte < 0x7F
        }
    }

    private static func contains(_ line: UnsafeBufferPointer<UInt8>, _ word: [UInt8]) -> Bool {
        guard let first = word.first, line.count >= word.count else { return word.isEmpty }
        var index = 0
        let last = line.count - word.count
        while index <= last {
            if lower(line[index]) == first, matches(line, word, at: index) { return true }
            index += 1
        }
        return false
    }

    private static func matches(_ line: UnsafeBufferPointer<UInt8>, _ word: [UInt8], at start: Int) -> Bool {
        var index = 1
        while index < word.count {
            guard lower(line[start + index]) == word[index] else { return false }
            index += 1
        }
        return true
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
}
