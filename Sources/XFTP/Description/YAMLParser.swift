/// Parses the YAML subset of descriptions: block and flow mappings and sequences, scalars on one line with or without
/// quotes, comments, LF or CRLF. Rejects all other YAML (tags, anchors, block scalars, several documents, deep nesting,
/// duplicate keys) and never traps. Bounded in time and memory.
struct YAMLParser {
    struct Failure: Error, Equatable {
        let line: Int
        let reason: String
    }

    /// In bytes, derived from `FileDescription.maxChunks`.
    static let longestText = 4 << 20
    static let deepestNesting = 12
    static let maxValues = 100_000

    let text: [UInt8]
    var position = 0
    var depth = 0
    var values = 0

    static func parse(_ text: String) throws(Failure) -> YAMLValue {
        guard text.utf8.count <= longestText else { throw Failure(line: 1, reason: "is too long") }
        var parser = YAMLParser(Array(text.utf8))
        return try parser.document()
    }

    private init(_ source: [UInt8]) {
        var text: [UInt8] = []
        text.reserveCapacity(source.count + 1)
        for (index, byte) in source.enumerated() {
            let endsLine = index + 1 < source.count && source[index + 1] == Self.newline
            if byte == Self.carriageReturn, endsLine { continue }
            text.append(byte)
        }
        self.text = text
    }

    static let newline = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")

    // MARK: Document

    private mutating func document() throws(Failure) -> YAMLValue {
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        skipEmptyLines()
        if isMarker("---") {
            position += 3
            skipEmptyLines()
        }
        let value = try block(from: 0)
        skipEmptyLines()
        if isMarker("...") { position += 3 }
        skipEmptyLines()
        guard position == text.count else { throw failure("has text after the document") }
        return value
    }

    func isMarker(_ marker: String) -> Bool {
        guard isAtLineStart, position <= text.count, text[position...].starts(with: marker.utf8) else {
            return false
        }
        return isEndOrSpace(position + 3)
    }

    // MARK: Block style

    /// Parses the value at the cursor, whose lines are indented at least `indent`.
    mutating func block(from indent: Int) throws(Failure) -> YAMLValue {
        try enter()
        defer { depth -= 1 }
        guard let byte = peek, column(of: position) >= indent else { return .nothing }
        if byte == UInt8(ascii: "-"), isEndOrSpace(position + 1) { return try blockSequence() }
        if isFlow(byte) { return try endOfLine(after: flow()) }
        if hasKey() { return try blockMapping() }
        return try endOfLine(after: scalar(inFlow: false))
    }

    mutating func blockSequence() throws(Failure) -> YAMLValue {
        let indent = column(of: position)
        var items: [YAMLValue] = []
        repeat {
            position += 1
            skipSpaces()
            if isAtLineEnd { skipEmptyLines() }
            items.append(try block(from: indent + 1))
            skipEmptyLines()
        } while peek == UInt8(ascii: "-") && isEndOrSpace(position + 1) && column(of: position) == indent
            && !isMarker("---")
        try checkDedent(below: indent)
        return .sequence(items)
    }

    mutating func blockMapping() throws(Failure) -> YAMLValue {
        let indent = column(of: position)
        var entries: [YAMLValue.Entry] = []
        var keys: Set<String> = []
        repeat {
            guard case .scalar(let key, _) = try scalar(inFlow: false, isKey: true) else {
                throw failure("has a key that is not text")
            }
            guard keys.insert(key).inserted else { throw failure("has a key twice") }
            guard peek == UInt8(ascii: ":") else { throw failure("has a key without value") }
            position += 1
            skipSpaces()
            if isAtLineEnd {
                skipEmptyLines()
                let isList = peek == UInt8(ascii: "-") && isEndOrSpace(position + 1)
                entries.append(.init(key: key, value: try block(from: isList ? indent : indent + 1)))
            } else {
                try enter()
                defer { depth -= 1 }
                guard let byte = peek else { throw failure("ends too early") }
                let value = try isFlow(byte) ? flow() : scalar(inFlow: false)
                entries.append(.init(key: key, value: try endOfLine(after: value)))
            }
            skipEmptyLines()
        } while position < text.count && column(of: position) == indent && hasKey() && !isMarker("...")
        try checkDedent(below: indent)
        return .mapping(entries)
    }

    /// Checks that the line after a block belongs to an outer one.
    func checkDedent(below indent: Int) throws(Failure) {
        guard position == text.count || column(of: position) <= indent else {
            throw failure("has wrong indentation")
        }
    }

    /// Returns whether the line at the cursor starts with a key and its colon.
    func hasKey() -> Bool {
        var index = position
        if let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            index += 1
            while index < text.count, text[index] != Self.newline {
                if text[index] == quote {
                    index += 1
                    // Two single quotes stand for one, as in `singleQuoted`.
                    guard quote == UInt8(ascii: "'"), index < text.count, text[index] == quote else {
                        return index < text.count && text[index] == UInt8(ascii: ":")
                            && isEndOrSpace(index + 1)
                    }
                }
                index += quote == UInt8(ascii: "\"") && text[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            return false
        }
        while index < text.count, text[index] != Self.newline {
            if text[index] == UInt8(ascii: ":"), isEndOrSpace(index + 1) { return true }
            if text[index] == UInt8(ascii: "#"), index > position, text[index - 1] == Self.space {
                return false
            }
            index += 1
        }
        return false
    }

    // MARK: Flow style

    func isFlow(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
    }

    mutating func flow() throws(Failure) -> YAMLValue {
        try enter()
        defer { depth -= 1 }
        guard let opening = peek else { throw failure("ends too early") }
        guard isFlow(opening) else { return try scalar(inFlow: true) }
        let closing = opening == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
        position += 1
        var items: [YAMLValue] = []
        var entries: [YAMLValue.Entry] = []
        var keys: Set<String> = []
        while true {
            skipEmptyLines()
            if peek == closing { break }
            if opening == UInt8(ascii: "[") {
                items.append(try flow())
            } else {
                guard case .scalar(let key, _) = try scalar(inFlow: true), keys.insert(key).inserted else {
                    throw failure("has a key twice")
                }
                skipEmptyLines()
                guard peek == UInt8(ascii: ":") else { throw failure("has a key without value") }
                position += 1
                skipEmptyLines()
                entries.append(.init(key: key, value: try flow()))
            }
            skipEmptyLines()
            if peek == UInt8(ascii: ",") {
                position += 1
            } else if peek != closing {
                throw failure("has a list that is not closed")
            }
        }
        position += 1
        return opening == UInt8(ascii: "[") ? .sequence(items) : .mapping(entries)
    }

    // MARK: Cursor

    var peek: UInt8? { position < text.count ? text[position] : nil }

    func isEndOrSpace(_ index: Int) -> Bool {
        index >= text.count || text[index] == Self.space || text[index] == Self.newline
    }

    /// Whether the cursor is at the start of a line.
    var isAtLineStart: Bool { position == 0 || position <= text.count && text[position - 1] == Self.newline }

    /// Returns the number of bytes between the start of the line and the index. Takes linear time: call it at most once
    /// per line.
    func column(of index: Int) -> Int {
        var start = index
        while start > 0, text[start - 1] != Self.newline { start -= 1 }
        return index - start
    }

    mutating func skipSpaces() {
        while peek == Self.space || peek == UInt8(ascii: "\t") { position += 1 }
    }

    /// Whether only a comment or nothing follows on the line.
    var isAtLineEnd: Bool {
        guard let byte = peek else { return true }
        if byte == UInt8(ascii: "#"), position == 0 || text[position - 1] == Self.space { return true }
        return byte == Self.newline
    }

    /// Moves to the next significant character, across line ends and comments.
    mutating func skipEmptyLines() {
        while position < text.count {
            skipSpaces()
            guard isAtLineEnd || peek == UInt8(ascii: "#") && isAtLineStart else { return }
            while let byte = peek, byte != Self.newline { position += 1 }
            if position < text.count { position += 1 }
        }
    }

    mutating func endOfLine(after value: YAMLValue) throws(Failure) -> YAMLValue {
        skipSpaces()
        guard isAtLineEnd else { throw failure("has text after a value") }
        return value
    }

    mutating func enter() throws(Failure) {
        depth += 1
        values += 1
        guard depth <= Self.deepestNesting else { throw failure("is nested too deep") }
        guard values <= Self.maxValues else { throw failure("has too many values") }
    }

    func failure(_ reason: String) -> Failure {
        let line = 1 + text[..<min(position, text.count)].count { $0 == Self.newline }
        return Failure(line: line, reason: reason)
    }
}
