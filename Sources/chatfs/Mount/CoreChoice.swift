import CommandLineKit

/// The core of `--core`. A new core is a case here; the compiler then asks how it is opened and named.
enum CoreChoice: Sendable {
    /// ChatFS's own, whose profiles are in the data directory.
    case embedded
    case official(OfficialCoreChoice)

    /// Reads the options of `CommonOptions.access`.
    init(_ invocation: Invocation) throws {
        self = try OfficialCoreChoice(invocation).map(Self.official) ?? .embedded
    }

    /// Nil for another core.
    var official: OfficialCoreChoice? {
        get {
            switch self {
            case .embedded: nil
            case .official(let choice): choice
            }
        }
        set { if let newValue { self = .official(newValue) } }
    }

    var isEmbedded: Bool { if case .embedded = self { true } else { false } }

    /// For the log.
    var word: String {
        switch self {
        case .embedded: "embedded"
        case .official: "official"
        }
    }

    /// Returns the directory of the core's data; the same for the same core.
    func folder(dataPath: String) -> String {
        switch self {
        case .embedded: dataPath
        case .official(let choice): choice.folder(dataPath: dataPath)
        }
    }
}
