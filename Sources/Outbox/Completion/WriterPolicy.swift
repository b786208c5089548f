import Posix

/// A writing program as classified by the tables. A value.
public struct WriterProgram: Hashable, Sendable {
    /// The name in sentences.
    public var name: String
    public var kind: WriterKind
    public var statuses: StatusMeaning
    /// True for shells and interpreters, whose scripts may replace them by another program.
    var mayExecute: Bool

    /// True for programs that close a source after its copy. They go on with other files after an error.
    var copiesWholeFiles: Bool { ["cp", "mv", "install", "ginstall"].contains(name) }

    public init(
        _ name: String, _ kind: WriterKind = .ordinary, statuses: StatusMeaning = .failure,
        mayExecute: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.statuses = statuses
        self.mayExecute = mayExecute
    }
}

/// Classifies programs by their writing. A value without I/O.
public struct WriterPolicy: Sendable {
    private let resuming: [ProgramPattern]

    /// - Parameter resuming: Additional programs of the kind `resuming`.
    public init(resuming: [ProgramPattern] = []) { self.resuming = resuming }

    /// Classifies a program.
    public func program(_ caller: Caller) -> WriterProgram {
        let needsArguments = caller.needsArguments
        let caller = caller.applet
        let kind = Self.kinds.first { $0.fits(caller) }?.value
        let isNamed = resuming.contains { $0.fits(caller) }
        let usual = caller.runsScript ? WriterKind.scripted : .ordinary
        let name = caller.printableName
        return WriterProgram(
            name.isEmpty ? "A program" : name, kind ?? (isNamed ? .resuming : usual),
            statuses: Self.statuses(of: caller, isKnown: kind != nil),
            mayExecute: needsArguments && kind == nil)
    }

    /// Statuses of a known program count even if an interpreter runs it.
    private static func statuses(of caller: Caller, isKnown: Bool) -> StatusMeaning {
        switch statuses.first(where: { $0.fits(caller) })?.value {
        case .failureExcept(let results)?: .failureExcept(results)
        case let meaning? where !isKnown: meaning
        default: .failure
        }
    }

    private struct Row<Value: Sendable>: Sendable {
        let value: Value
        let patterns: [ProgramPattern]

        init(_ value: Value, _ programs: [String]) {
            self.value = value
            patterns = programs.compactMap(ProgramPattern.init)
        }

        func fits(_ caller: Caller) -> Bool { patterns.contains { $0.fits(caller) } }
    }

    private static let kinds = WriterKind.table.map { Row($0.kind, $0.programs) }
    private static let statuses = StatusMeaning.table.map { Row($0.meaning, $0.programs) }
}

extension Caller {
    /// True for programs that only their command line identifies.
    var needsArguments: Bool {
        isMultiCall || WriterPolicy.interpreters.contains { $0.fits(self) }
    }

    /// True for an interpreter with a script. Shells write by other programs.
    fileprivate var runsScript: Bool {
        arguments.count > 1 && WriterPolicy.scriptInterpreters.contains { $0.fits(self) }
    }

    private var isMultiCall: Bool { Self.multiCalls.contains(name) }
    private static let multiCalls = ["busybox", "toybox", "coreutils"]

    /// For a multi-call program, the applet that was called.
    fileprivate var applet: Caller {
        guard isMultiCall else { return self }
        // `busybox cp a b`, or a link named cp.
        let words =
            arguments.first.map { Self.multiCalls.contains($0.lastPathName ?? $0) } == true
            ? Array(arguments.dropFirst()) : arguments
        guard let word = words.first, !word.isEmpty else { return self }
        return Caller(executable: word, arguments: words)
    }
}

extension WriterPolicy {
    /// Interpreters whose scripts may be programs of the tables.
    fileprivate static let interpreters =
        scriptInterpreters + ["bash", "dash", "sh"].compactMap(ProgramPattern.init)
    fileprivate static let scriptInterpreters = ["python*", "pypy*", "perl*", "ruby*", "node*"]
        .compactMap(ProgramPattern.init)
}
