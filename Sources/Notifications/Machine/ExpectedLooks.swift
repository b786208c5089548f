import ChatCore

/// Chats whose folders were listed and may be on display. The file manager watches a displayed folder shortly after
/// listing it, and does not list it again when its window is shown later. The checks are therefore repeated.
struct ExpectedLooks: Sendable {
    typealias Instant = NotificationGroup.Instant

    private struct Look: Sendable {
        var time: Instant
        /// Number of checks that found no window.
        var tries = 0
    }

    private var looks: [ChatReference: Look] = [:]

    /// Delays after the listing, and after each check.
    private static let delays: [Duration] = [.seconds(1), .seconds(9), .seconds(50)]
    static let limit = 256

    mutating func expect(_ chat: ChatReference, at now: Instant) {
        guard looks.count < Self.limit || looks[chat] != nil else { return }
        looks[chat] = Look(time: now + Self.delays[0])
    }

    mutating func forget(_ chat: ChatReference) { looks[chat] = nil }

    func due(at now: Instant) -> Set<ChatReference> { Set(looks.filter { $0.value.time <= now }.keys) }

    var next: Instant? { looks.values.map(\.time).min() }

    /// Records a check. Chats still expected were not on display.
    mutating func done(_ chats: Set<ChatReference>, at now: Instant) {
        for chat in chats {
            guard var look = looks[chat] else { continue }
            look.tries += 1
            look.time = now + (look.tries < Self.delays.count ? Self.delays[look.tries] : .zero)
            looks[chat] = look.tries < Self.delays.count ? look : nil
        }
    }
}
