/// Sets a key of a table in the text of a TOML document and leaves every other line as it is. Pure.
struct TOMLTableEdit {
    /// The lines of the document without their ends.
    private var lines: [Substring]

    init(_ text: [UInt8]) {
        lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    var text: [UInt8] { Array(lines.joined(separator: "\n").utf8) }

    /// Replaces the line of the key, or inserts one below the header. Knows only values of one line, so the caller
    /// compares the parsed documents.
    ///
    /// - Parameters:
    ///   - key: Bare.
    ///   - value: In the notation of TOML.
    ///   - header: The line of `[TABLE]`, from 1 on.
    /// - Returns: False if no header is there; then the text is unchanged.
    mutating func set(_ key: String, to value: String, inTableAt header: Int) -> Bool {
        guard lines.indices.contains(header - 1) else { return false }
        let first = Self.trimmed(lines[header - 1])
        guard first.hasPrefix("["), !first.hasPrefix("[[") else { return false }
        let end = lines[header...].firstIndex { Self.trimmed($0).hasPrefix("[") } ?? lines.endIndex
        let line = Substring("\(key) = \(value)")
        if let place = lines[header..<end].firstIndex(where: { Self.key(of: $0) == Substring(key) }) {
            lines[place] = line
        } else {
            lines.insert(line, at: header)
        }
        return true
    }

    private static func key(of line: Substring) -> Substring? {
        line.firstIndex(of: "=").map { trimmed(line[..<$0]) }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
