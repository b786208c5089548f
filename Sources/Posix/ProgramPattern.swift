import Base

/// A rule's programs in the user's notation: the name of an executable or script (`borg`), its path (`/usr/bin/borg`),
/// and after a colon a word of its command line, of a path the last part (`kioworker:thumbnail.so`). A `*` stands for
/// any characters.
public struct ProgramPattern: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private let program: Glob
    private let isPath: Bool
    private let word: Glob?

    /// Returns nil without a name before the colon or a word after it.
    public init?(_ text: String) {
        let parts = text.utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let program = parts.first, !program.isEmpty, parts.count == 1 || !parts[1].isEmpty else {
            return nil
        }
        description = text
        self.program = Glob(program)
        isPath = program.contains(UInt8(ascii: "/"))
        word = parts.count == 2 ? Glob(parts[1]) : nil
    }

    /// The number of letters. The longest of several matching patterns wins.
    public var weight: Int { description.utf8.count { $0 != UInt8(ascii: "*") } }

    /// Whether the pattern includes a command line.
    public var needsArguments: Bool { word != nil }

    public func fits(_ caller: Caller) -> Bool {
        fitsProgram(caller)
            && word.map { word in
                caller.arguments.dropFirst().contains { word.fits(lastComponent(of: $0)) }
            } ?? true
    }

    /// Whether the pattern matches with another command line.
    public func fitsProgram(_ caller: Caller) -> Bool {
        [caller.executable, caller.script].compactMap(\.self).contains {
            program.fits(isPath ? $0 : lastComponent(of: $0))
        }
    }
}

/// A text in which `*` stands for any characters.
struct Glob: Hashable, Sendable {
    private let parts: [[UInt8]]

    init(_ text: String) { self.init(text.utf8) }

    init(_ text: some Sequence<UInt8>) {
        parts = Array(text).split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
            .map(Array.init)
    }

    func fits(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard let first = parts.first, let last = parts.last else { return false }
        if parts.count == 1 { return rest.elementsEqual(first) }
        guard rest.count >= first.count + last.count, rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        guard rest.suffix(last.count).elementsEqual(last) else { return false }
        rest = rest.dropLast(last.count)
        // The first match of each part leaves the most text for the rest.
        for part in parts.dropFirst().dropLast() {
            guard let end = Self.end(of: part, in: rest) else { return false }
            rest = rest[end...]
        }
        return true
    }

    private static func end(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard part.count <= text.count else { return nil }
        for start in text.startIndex...(text.endIndex - part.count)
        where text[start..<start + part.count].elementsEqual(part) {
            return start + part.count
        }
        return nil
    }
}
