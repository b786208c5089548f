/// A value in a JSON document. Missing members and values of other kinds read as nil, because protocol fields vary
/// between versions.
public struct JSONValue: Sendable {
    fileprivate let document: JSONDocument
    fileprivate let index: Int

    init(document: JSONDocument, index: Int) {
        self.document = document
        self.index = index
    }

    /// Parses a text. Returns nil if it is no JSON or exceeds the limits of `JSONDocument`.
    public static func parse(_ bytes: [UInt8]) -> JSONValue? { JSONDocument(bytes)?.root }

    private var node: JSONDocument.Node { document.nodes[index] }

    public var isNull: Bool { node.kind == .null }
    public var isObject: Bool { node.kind == .object }

    public var bool: Bool? {
        switch node.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A whole number, also written as 1.0 or 1e3. nil if it does not fit.
    public var integer: Int64? {
        guard node.kind == .number else { return nil }
        if let number = plainInteger { return number }
        guard let double = Double(text(of: node)), double.isFinite, abs(double) < 9.0e15,
            double.rounded() == double
        else { return nil }
        return Int64(double)
    }

    /// A size or count. Negative numbers read as 0.
    public var size: UInt64? { integer.map { UInt64(max(0, $0)) } }

    private var plainInteger: Int64? {
        let range = Int(node.start)..<Int(node.end)
        let isNegative = document.bytes[range.lowerBound] == UInt8(ascii: "-")
        let digits = isNegative ? range.dropFirst() : range
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for position in digits {
            let byte = document.bytes[position]
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, over) = number.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte &- 0x30)
            let (sum, past) =
                isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            guard !over, !past else { return nil }
            number = sum
        }
        return number
    }

    /// The decoded string. Lone surrogates and invalid UTF-8 become U+FFFD.
    public var string: String? {
        switch node.kind {
        case .string: text(of: node)
        case .escapedString: unescaped(node)
        default: nil
        }
    }

    /// The value as it stands in the text.
    public var source: ArraySlice<UInt8> {
        // A string is noted without its quotes.
        let quote: Int32 = node.kind == .string || node.kind == .escapedString ? 1 : 0
        return document.bytes[Int(node.start - quote)..<Int(node.end + quote)]
    }

    private func text(of node: JSONDocument.Node) -> String {
        document.bytes.withUnsafeBufferPointer {
            String(
                decoding: UnsafeBufferPointer(rebasing: $0[Int(node.start)..<Int(node.end)]), as: UTF8.self)
        }
    }

    private func isEqual(_ node: JSONDocument.Node, to word: StaticString) -> Bool {
        let count = Int(node.end - node.start)
        guard count == word.utf8CodeUnitCount else { return false }
        return document.bytes.withUnsafeBufferPointer { buffer in
            UnsafeBufferPointer(rebasing: buffer[Int(node.start)..<Int(node.end)]).elementsEqual(
                UnsafeBufferPointer(start: word.utf8Start, count: count))
        }
    }

    // MARK: Members

    /// The member of an object, or nil if it is missing or null.
    public subscript(key: StaticString) -> JSONValue? {
        guard node.kind == .object else { return nil }
        let nodes = document.nodes
        var at = index + 1
        let end = Int(node.next)
        while at + 1 < end {
            let isMeant = nodes[at].kind == .string && isEqual(nodes[at], to: key)
            if isMeant {
                let value = JSONValue(document: document, index: at + 1)
                return value.isNull ? nil : value
            }
            at = Int(nodes[at + 1].next)
        }
        return nil
    }

    /// The members of an object in order, including null and repeated ones. Empty for other kinds.
    public var members: [(name: String, value: JSONValue)] {
        guard node.kind == .object else { return [] }
        let nodes = document.nodes
        var members: [(name: String, value: JSONValue)] = []
        var at = index + 1
        while at + 1 < Int(node.next) {
            let name = JSONValue(document: document, index: at).string ?? ""
            members.append((name, JSONValue(document: document, index: at + 1)))
            at = Int(nodes[at + 1].next)
        }
        return members
    }

    /// The elements of an array. Empty for other kinds.
    public var elements: [JSONValue] {
        guard node.kind == .array else { return [] }
        let nodes = document.nodes
        var elements: [JSONValue] = []
        var at = index + 1
        while at < Int(node.next) {
            elements.append(JSONValue(document: document, index: at))
            at = Int(nodes[at].next)
        }
        return elements
    }

    /// The name of an alternative: of `{"type":"x",…}`, or the bare string of other versions.
    public var type: String? { self["type"]?.string ?? string }
}

extension JSONValue {
    private func unescaped(_ node: JSONDocument.Node) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(Int(node.end - node.start))
        let bytes = document.bytes
        let end = Int(node.end)
        var at = Int(node.start)
        while at < end {
            let byte = bytes[at]
            at += 1
            guard byte == UInt8(ascii: "\\"), at < end else {
                result.append(byte)
                continue
            }
            let escape = bytes[at]
            at += 1
            switch escape {
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "u"): Self.append(Self.scalar(bytes, &at, end), to: &result)
            default: result.append(escape)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes a \u escape whose digits start at `at`, including the second half of a surrogate pair.
    private static func scalar(_ bytes: [UInt8], _ at: inout Int, _ end: Int) -> Unicode.Scalar {
        guard let first = unit(bytes, at, end) else { return "\u{FFFD}" }
        at += 4
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, at + 6 <= end, bytes[at] == UInt8(ascii: "\\"),
            bytes[at + 1] == UInt8(ascii: "u"), let second = unit(bytes, at + 2, end),
            (0xDC00..<0xE000).contains(second)
        else { return "\u{FFFD}" }
        at += 6
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
    }

    private static func unit(_ bytes: [UInt8], _ at: Int, _ end: Int) -> UInt32? {
        guard at + 4 <= end else { return nil }
        var unit: UInt32 = 0
        for byte in bytes[at..<at + 4] {
            switch byte {
            case 0x30...0x39: unit = unit << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: unit = unit << 4 | UInt32(byte - 0x41 + 10)
            case 0x61...0x66: unit = unit << 4 | UInt32(byte - 0x61 + 10)
            default: return nil
            }
        }
        return unit
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        bytes += Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

extension JSONDocument {
    public var root: JSONValue { JSONValue(document: self, index: 0) }
}
