import Ratchet

/// How both sides come to the same keys again: each gives new ones, and a message proves them.
///
///     synchronised → allowed, required, started, agreed
///     allowed      → synchronised, required, started, agreed
///     required     → synchronised, started, agreed
///     started      → agreed
///     agreed       → synchronised, agreed (the other side begins once more)
struct Synchronisation: Sendable {
    private(set) var phase: SynchronisationPhase
    /// This side's new keys, until a message proves them.
    private(set) var keys: AgreementKeys?
    /// The other side's word that it is ready, once after both have given keys.
    private(set) var ready: Ready
    /// Hashes of the other side's keys that were used, the newest last: each is used once.
    private(set) var usedKeys: [[UInt8]]

    /// What follows from the other side's word that it is ready. The numbers are stored.
    enum Ready: Int64, Hashable, Sendable {
        /// Nothing: this side has not agreed on keys since the last one.
        case ignored = 0
        /// The other side speaks first, and is answered.
        case answered = 1
        case awaited = 2
    }

    private static let rememberedKeys = 64
    /// After so long no server has new keys, or the answer to them, any more.
    static let keysAge = Duration.seconds(21 * 86_400)

    init(
        phase: SynchronisationPhase = .synchronised, keys: AgreementKeys? = nil, ready: Ready = .ignored,
        usedKeys: [[UInt8]] = []
    ) {
        self.phase = phase
        self.keys = keys
        self.ready = ready
        self.usedKeys = usedKeys
    }

    /// Whether messages of the application may be sent.
    var allowsSending: Bool { phase == .synchronised || phase == .allowed }

    /// A message could not be decrypted.
    /// - Parameter isLost: whether none of those to come can be either.
    mutating func fail(isLost: Bool) {
        switch (phase, isLost) {
        case (.synchronised, false): phase = .allowed
        case (.synchronised, true), (.allowed, true): phase = .required
        // Under way already, or no worse than before.
        case (.allowed, false), (.required, _), (.started, _), (.agreed, _): break
        }
    }

    /// This side begins.
    mutating func start(with keys: AgreementKeys) {
        phase = .started
        self.keys = keys
    }

    func hasUsed(_ peer: AgreementParameters) -> Bool { usedKeys.contains(peer.hash) }

    /// Both have given keys.
    /// - Parameter answersReady: whether the other side speaks first.
    mutating func agree(_ own: AgreementKeys, with peer: AgreementParameters, answersReady: Bool) {
        phase = .agreed
        keys = own
        ready = answersReady ? .answered : .awaited
        usedKeys.append(peer.hash)
        if usedKeys.count > Self.rememberedKeys {
            usedKeys.removeFirst(usedKeys.count - Self.rememberedKeys)
        }
    }

    /// A message was decrypted.
    mutating func succeed() {
        guard phase != .started else { return }
        (phase, keys) = (.synchronised, nil)
    }

    /// The other side's word that it is ready, which counts once for each agreement. Returns what follows from it.
    mutating func takeReady() -> Ready {
        defer { ready = .ignored }
        return ready
    }
}
