import Base

/// Names and values in the queries of links.
enum PercentEncoding {
    /// All but letters, digits, `-`, `.`, `_` and `~` as `%` and two digits.
    static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded += Array(Hexadecimal.encode([byte]).uppercased().utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// nil where a `%` has no two digits behind it, or what comes out is no UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(value), let low = rest.popFirst().flatMap(value) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}

/// A link taken apart: what stands before `#`, what between that and `?`, and the parameters behind it.
struct LinkParts {
    /// Without a `/` at its end.
    let place: Substring
    /// Without a `/` at its begin.
    let path: Substring
    private let parameters: [String: String]

    private static let maxParameters = 16

    init?(_ text: String) {
        guard let hash = text.firstIndex(of: "#") else { return nil }
        var place = text[..<hash]
        if place.last == "/" { place = place.dropLast() }
        self.place = place
        var path = text[text.index(after: hash)...]
        if path.first == "/" { path = path.dropFirst() }
        guard let mark = path.firstIndex(of: "?") else {
            (self.path, parameters) = (path, [:])
            return
        }
        self.path = path[..<mark]
        guard let parameters = Self.parameters(path[path.index(after: mark)...]) else { return nil }
        self.parameters = parameters
    }

    /// The first of each name counts.
    static func parameters(_ query: some StringProtocol) -> [String: String]? {
        var parameters: [String: String] = [:]
        for parameter in query.split(separator: "&", omittingEmptySubsequences: true) {
            let sides = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let name = PercentEncoding.decode(sides[0]),
                let value = PercentEncoding.decode(sides[1])
            else { return nil }
            if parameters[name] == nil { parameters[name] = value }
            guard parameters.count <= maxParameters else { return nil }
        }
        return parameters
    }

    subscript(name: String) -> String? { parameters[name] }
}
