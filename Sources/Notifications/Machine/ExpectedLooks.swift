import ChatCore

/// Chats whose folders were listed and may be looked at. Whether a window shows one is seen a moment after its listing,
/// when the file manager watches the folder; who listed it before, and shows it now, does not list it again.
struct ExpectedLooks: Sendable {
    typealias Instant = NotificationGroup.Instant

    private struct Look: Sendable {
        var time: Instant
        /// How often it was seen that no window shows it.
        var tries = 0
    }

    private var looks: [ChatReference: Look] = [:]

    /// After a listing, and each after the one before.
    private static let delays: [Duration] = [.seconds(1), .seconds(9), .seconds(50)]
    static let limit = 256

    mutating func expect(_ chat: ChatReference, at now: Instant) {
        guard looks.count < Self.limit || looks[chat] != nil else { return }
        looks[chat] = Look(time: now + Self.delays[0])
    }

    mutating func forget(_ chat: ChatReference) { looks[chat] = nil }

    func due(at now: Instant) -> Set<ChatReference> { Set(looks.filter { $0.value.time <= now }.keys) }

    var next: Instant? { looks.values.map(\.time).min() }

    /// They were looked for, in vain where they are still expected.
    mutating func done(_ chats: Set<ChatReference>, at now: Instant) {
        for chat in chats {
            guard var look = looks[chat] else { continue }
            look.tries += 1
            look.time = now + (look.tries < Self.delays.count ? Self.delays[look.tries] : .zero)
            looks[chat] = look.tries < Self.delays.count ? look : nil
        }
    }
}
