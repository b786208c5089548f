import Ratchet

/// The state of ratchet resynchronisation: both sides send new keys, and a message proves them.
///
///     synchronised → allowed, required, started, agreed
///     allowed      → synchronised, required, started, agreed
///     required     → synchronised, started, agreed
///     started      → agreed
///     agreed       → synchronised, agreed (the peer starts again)
struct RatchetSync: Sendable {
    private(set) var phase: RatchetSyncPhase = .synchronised
    /// This side's new keys, until a message proves them.
    private(set) var keys: AgreementKeys?
    /// The expected effect of the peer's next `E` message.
    private(set) var ready: Ready = .ignored
    /// Hashes of the peer's used keys, newest last. Each key is used once.
    private(set) var usedKeys: [[UInt8]] = []

    /// The effect of an `E` message. The raw values are stored.
    enum Ready: Int64, Hashable, Sendable {
        /// None: no agreement since the last one.
        case ignored = 0
        /// The peer sends first and gets a reply.
        case answered = 1
        case awaited = 2
    }

    private static let rememberedKeys = 64
    /// Time after which no server still holds sent keys or the reply to them.
    static let keysAge = Duration.seconds(21 * 86_400)

    /// Whether application messages may be sent.
    var allowsSending: Bool { phase == .synchronised || phase == .allowed }

    /// Records a failed decryption.
    /// - Parameter isLost: whether no later message can be decrypted either.
    mutating func fail(isLost: Bool) {
        switch (phase, isLost) {
        case (.synchronised, false): phase = .allowed
        case (.synchronised, true), (.allowed, true): phase = .required
        // Already under way, or no worse than before.
        case (.allowed, false), (.required, _), (.started, _), (.agreed, _): break
        }
    }

    /// Starts an agreement.
    mutating func start(with keys: AgreementKeys) {
        phase = .started
        self.keys = keys
    }

    func hasUsed(_ peer: AgreementParameters) -> Bool { usedKeys.contains(peer.hash) }

    /// Records that both sides have sent keys.
    /// - Parameter answersReady: whether the peer sends first.
    mutating func agree(_ own: AgreementKeys, with peer: AgreementParameters, answersReady: Bool) {
        phase = .agreed
        keys = own
        ready = answersReady ? .answered : .awaited
        usedKeys.append(peer.hash)
        if usedKeys.count > Self.rememberedKeys {
            usedKeys.removeFirst(usedKeys.count - Self.rememberedKeys)
        }
    }

    /// Records a decrypted message.
    mutating func succeed() {
        guard phase != .started else { return }
        (phase, keys) = (.synchronised, nil)
    }

    /// Consumes the peer's `E` message, which counts once per agreement, and returns its effect.
    mutating func takeReady() -> Ready {
        defer { ready = .ignored }
        return ready
    }
}
