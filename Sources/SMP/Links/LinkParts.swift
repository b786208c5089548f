import Base

/// The parts of a link: the place before `#`, the path up to `?`, and the parameters after it.
struct LinkParts {
    /// Without a trailing `/`.
    let place: Substring
    /// Without a leading `/`.
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

    /// Returns the first value of a name.
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
