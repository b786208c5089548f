import ChatCore

/// Chats whose folders were listed and may be on display. The file manager watches a displayed folder shortly after
/// listing it, and does not list it again when its window is shown later. The checks are therefore repeated.
struct PendingFolderChecks: Sendable {
    typealias Instant = NotificationGroup.Instant

    private struct Check: Sendable {
        var time: Instant
        /// Number of checks that found no window.
        var tries = 0
    }

    private var checks: [ChatReference: Check] = [:]

    /// Delays after the listing, and after each check.
    private static let delays: [Duration] = [.seconds(1), .seconds(9), .seconds(50)]
    static let limit = 256

    mutating func expect(_ chat: ChatReference, at now: Instant) {
        guard checks.count < Self.limit || checks[chat] != nil else { return }
        checks[chat] = Check(time: now + Self.delays[0])
    }

    mutating func forget(_ chat: ChatReference) { checks[chat] = nil }

    func due(at now: Instant) -> Set<ChatReference> { Set(checks.filter { $0.value.time <= now }.keys) }

    var next: Instant? { checks.values.map(\.time).min() }

    /// Records a check. Chats still expected were not on display.
    mutating func done(_ chats: Set<ChatReference>, at now: Instant) {
        for chat in chats {
            guard var check = checks[chat] else { continue }
            check.tries += 1
            check.time = now + (check.tries < Self.delays.count ? Self.delays[check.tries] : .zero)
            checks[chat] = check.tries < Self.delays.count ? check : nil
        }
    }
}
