import Posix

/// A program that writes, as the table knows it. A value.
public struct WriterProgram: Hashable, Sendable {
    /// As it is called in sentences.
    public var name: String
    public var kind: WriterKind
    public var statuses: StatusMeaning

    public init(_ name: String, _ kind: WriterKind = .ordinary, statuses: StatusMeaning = .failure) {
        self.name = name
        self.kind = kind
        self.statuses = statuses
    }
}

/// Says of programs what they write files for. A value without input and output.
public struct WriterPolicy: Sendable {
    private let resuming: [ProgramPattern]

    /// - Parameter resuming: besides those of the table.
    public init(resuming: [ProgramPattern] = []) { self.resuming = resuming }

    /// What is known of a program.
    public func program(_ caller: Caller) -> WriterProgram {
        let caller = caller.applet
        let kind = Self.kinds.first { $0.fits(caller) }?.value
        let isNamed = resuming.contains { $0.fits(caller) }
        let name = caller.printableName
        return WriterProgram(
            name.isEmpty ? "A program" : name, kind ?? (isNamed ? .resuming : .ordinary),
            statuses: Self.statuses(of: caller, isKnown: kind != nil))
    }

    /// What a program that is known means by its statuses, it means as a script too.
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
    /// Programs whose command line says which one they are.
    var needsArguments: Bool {
        isMultiCall || WriterPolicy.interpreters.contains { $0.fits(self) }
    }

    private var isMultiCall: Bool { ["busybox", "toybox"].contains(name) }

    /// Of a program that is many, the one that it was called as.
    fileprivate var applet: Caller {
        guard isMultiCall, let word = arguments.first, !word.isEmpty else { return self }
        return Caller(executable: word, arguments: arguments)
    }
}

extension WriterPolicy {
    /// They run scripts that may be programs of the table.
    fileprivate static let interpreters = [
        "python*", "pypy*", "perl*", "ruby*", "node*", "bash", "dash", "sh",
    ]
    .compactMap(ProgramPattern.init)
}
