import Posix

/// Decides what a program may have fetched. A value without input and output; what is here is for everybody.
public struct CallerPolicy: Sendable {
    /// What is fetched for an opening of a file that is not here.
    public enum Access: Hashable, Sendable {
        /// What is read.
        case full
        /// The same, for somebody who would rather have no answer than a late one.
        case impatient
        /// The first chunk at most, and nothing ahead.
        case beginning
        /// Nothing: it is not opened.
        case none
        /// What is read, but by a first read at the beginning of at most so many bytes, which finds out the type.
        case afterFirstRead(limit: Int)
        /// Nothing: it finds out the type. What is here of the beginning is read all the same.
        case typeOnly
    }

    public struct Verdict: Hashable, Sendable {
        public var access: Access
        /// nil: no program that opens files without anybody wanting to see them.
        public var kind: CallerKind?
        /// A rule of the user lets it fetch.
        public var isAllowed = false
    }

    private struct Rule: Sendable {
        var pattern: ProgramPattern
        /// What it is refused as; nil: it is allowed.
        var refusedAs: CallerKind?
    }

    private let previews: PreviewMode
    private let rules: [Rule]

    /// - Parameters:
    ///   - refused: fetch nothing; of rules that fit the same program the longer one decides.
    ///   - allowed: may fetch, whatever they are.
    public init(
        previews: PreviewMode = .message, refused: [ProgramPattern] = [], allowed: [ProgramPattern] = []
    ) {
        self.previews = previews
        rules =
            refused.map { Rule(pattern: $0, refusedAs: .named) } + allowed.map { Rule(pattern: $0) }
    }

    public func verdict(on caller: Caller) -> Verdict {
        let kind = Self.kind(of: caller)
        let rule = rules.filter { $0.pattern.fits(caller) }.max { $0.pattern.weight < $1.pattern.weight }
        if let rule {
            if let refused = rule.refusedAs { return Verdict(access: .none, kind: kind ?? refused) }
            return Verdict(access: kind == .thumbnailer ? .impatient : .full, kind: kind, isAllowed: true)
        }
        switch kind {
        case nil: return Verdict(access: .full)
        case .thumbnailer: return Verdict(access: previews.mayFetch ? .impatient : .none, kind: kind)
        case .sniffer: return Verdict(access: .beginning, kind: kind)
        case .indexer, .scanner, .backup, .named: return Verdict(access: .none, kind: kind)
        }
    }

    /// Which of the known programs it is.
    public static func kind(of caller: Caller) -> CallerKind? {
        known.first { $0.patterns.contains { $0.fits(caller) } }?.kind
    }

    /// Whether the same executable is one thing or another by its command line.
    public static func dependsOnArguments(_ executable: String) -> Bool {
        let caller = Caller(executable: executable)
        return withArguments.contains { $0.fitsProgram(caller) }
    }

    private static let known = CallerKind.table.map { kind, programs in
        (kind: kind, patterns: programs.compactMap(ProgramPattern.init))
    }

    private static let withArguments = known.flatMap(\.patterns).filter {
        $0.needsArguments && !$0.description.hasPrefix("*")
    }
}
