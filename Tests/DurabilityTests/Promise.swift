/// A guarantee for the user from some time of the day on, after any failure of the machine.
struct Promise: Hashable {
    enum Kind: String {
        /// It is sent exactly once.
        case sent
        /// Its bytes exist: as a draft, recovered, or sent.
        case durable
        /// It was removed: it is not sent.
        case never
        /// Bob has it or can still get it.
        case received
        /// Bob has it, even without its relay.
        case stored
        /// An operation on it may have happened or not: earlier promises end.
        case open
    }

    let kind: Kind
    let name: String

    var text: String { kind.rawValue + " " + name }

    init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    init?(_ text: String) {
        guard let space = text.firstIndex(of: " "), let kind = Kind(rawValue: String(text[..<space])) else {
            return nil
        }
        self.init(kind, String(text[text.index(after: space)...]))
    }
}

/// All promises at one time.
struct Promises {
    private(set) var kinds: [String: Set<Promise.Kind>] = [:]

    mutating func add(_ promise: Promise) {
        if promise.kind == .open || promise.kind == .never { kinds[promise.name] = [] }
        if promise.kind != .open { kinds[promise.name, default: []].insert(promise.kind) }
    }

    func holds(_ kind: Promise.Kind, _ name: String) -> Bool { kinds[name]?.contains(kind) ?? false }
}
