/// What a user may rely on from some moment of the day on, whatever happens to the machine then.
struct Promise: Hashable {
    enum Kind: String {
        /// It goes out, and once.
        case sent
        /// Its bytes are somewhere: as a draft, recovered, or sent.
        case durable
        /// It was removed: it does not go out.
        case never
        /// Bob has it, or can still get it.
        case received
        /// Bob has it, also when its relay is gone.
        case stored
        /// Something is being done to it that may have happened or not: what was promised before ends.
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

/// Everything promised at one moment.
struct Promises {
    private(set) var kinds: [String: Set<Promise.Kind>] = [:]

    mutating func add(_ promise: Promise) {
        if promise.kind == .open || promise.kind == .never { kinds[promise.name] = [] }
        if promise.kind != .open { kinds[promise.name, default: []].insert(promise.kind) }
    }

    func holds(_ kind: Promise.Kind, _ name: String) -> Bool { kinds[name]?.contains(kind) ?? false }
}
