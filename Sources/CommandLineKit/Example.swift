/// A command line that shows the use of a command, and what it does.
public struct Example: Sendable {
    public let line: String
    public let meaning: String

    public init(_ line: String, _ meaning: String) {
        self.line = line
        self.meaning = meaning
    }
}
