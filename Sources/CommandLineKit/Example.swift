/// An example command line with its meaning.
public struct Example: Sendable {
    public let line: String
    public let meaning: String

    public init(_ line: String, _ meaning: String) {
        self.line = line
        self.meaning = meaning
    }
}
