import Base

/// Events and lists of programs.
extension ControlClient {
    /// Maximum number of files hashed per reply, so that it is quick.
    private static let hashedCount = 16

    /// - Throws: As `ask`.
    public func subscribe() throws { _ = try ask(ProgramRequest(.subscribe)) }

    /// Waits for the next event after `subscribe`. Returns nil once `isEnded`, polled every half second, returns true.
    /// - Throws: `.noAnswer` if the daemon hung up, `.malformed`, `.system`.
    public func nextEvent(unless isEnded: () -> Bool) throws(DesktopError) -> ProgramEvent? {
        while !isEnded() {
            if channel.hasLine(within: .milliseconds(500)) { return try channel.receive(ProgramEvent.self) }
        }
        return nil
    }

    /// Waits at most this time; returns true if an event is available.
    /// - Throws: `.noAnswer` if the daemon hung up, `.malformed`, `.system`.
    public func hasEvent(within time: Duration) throws(DesktopError) -> Bool { channel.hasLine(within: time) }

    /// Discards the available events.
    /// - Throws: As `nextEvent`.
    public func dropEvents() throws(DesktopError) {
        while channel.hasLine(within: .zero) { _ = try channel.receive(ProgramEvent.self) }
    }

    /// Calls `body` with all items of a chat, or of all chats, in pages.
    /// - Throws: As `ask`; errors of `body`.
    public func items(
        of chat: String?, states: [String]?, hash: Bool = false, _ body: (ProgramItem) throws -> Void
    ) throws {
        let chats = try chat.map { [$0] } ?? ask(ProgramRequest(.listChats)).chats?.map(\.chat) ?? []
        for chat in chats {
            var last: UInt64?
            repeat {
                let result = try ask(
                    ProgramRequest(
                        .listItems, chat: chat, states: states, after: last,
                        count: hash ? Self.hashedCount : ControlProtocol.maxCount, hash: hash ? true : nil))
                for item in result.items ?? [] { try body(item) }
                last = result.next
            } while last != nil
        }
    }
}
