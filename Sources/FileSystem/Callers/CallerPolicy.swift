import Posix

/// Decides how much a program may fetch. A pure value. Local bytes are always readable.
public struct CallerPolicy: Sendable {
    /// How much an opening may fetch of a file that is not on this machine.
    public enum Access: Hashable, Sendable {
        /// Every byte that is read.
        case full
        /// Like `full`, with a short deadline: the program prefers an error to a late reply.
        case impatient
        /// At most the first chunk, without prefetch.
        case beginning
        /// Nothing; open(2) fails.
        case none
        /// Every byte that is read, unless the first read is at offset 0 and at most `limit` bytes long. Such a read
        /// detects the type and fetches nothing.
        case afterFirstRead(limit: Int)
        /// Nothing, because the opening detects the type. Local bytes of the beginning are readable.
        case typeOnly
    }

    public struct Verdict: Hashable, Sendable {
        public var access: Access
        /// nil if the program is no background program.
        public var kind: CallerKind?
        /// A user's rule allows fetching.
        public var isAllowed = false
    }

    private struct Rule: Sendable {
        var pattern: ProgramPattern
        /// The kind that refused programs are counted as; nil if the rule allows the program.
        var refusedAs: CallerKind?
    }

    private let previews: PreviewMode
    private var rules: [Rule]

    /// - Parameters:
    ///   - refused: Patterns of programs that fetch nothing. The longest matching rule wins.
    ///   - allowed: Patterns of programs that may fetch, whatever their kind.
    public init(
        previews: PreviewMode = .message, refused: [ProgramPattern] = [], allowed: [ProgramPattern] = []
    ) {
        self.previews = previews
        rules =
            refused.map { Rule(pattern: $0, refusedAs: .named) } + allowed.map { Rule(pattern: $0) }
    }

    /// Lets programs fetch from now on.
    mutating func allow(_ pattern: ProgramPattern) { rules.append(Rule(pattern: pattern)) }

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

    /// Returns the kind of a known background program, or nil for any other program.
    public static func kind(of caller: Caller) -> CallerKind? {
        known.first { $0.patterns.contains { $0.fits(caller) } }?.kind
    }

    /// Returns true if the command line decides the executable's kind.
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
