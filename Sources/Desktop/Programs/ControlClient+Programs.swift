import Base
import Metrics

/// The methods of programs. None may be called after `subscribe`.
///
/// Each throws `ProgramError` with the daemon's error; see the class for others.
extension ControlClient {
    /// Maximum number of files hashed per reply, so that it is quick.
    private static let hashedCount = 16

    /// Sends a request and returns its result.
    func answer<Request: ControlRequest>(to request: Request) throws -> Request.Answer {
        try channel.receive(Request.Answer.self, to: begin(request)).get()
    }

    public func chats() throws -> [ProgramChat] {
        try answer(to: BareRequest<ChatsAnswer>(method: .listChats)).chats
    }

    /// Calls `body` with all items of a chat, or of all chats, in pages.
    /// - Throws: Also errors of `body`.
    public func items(
        of chat: String?, states: [String]?, hash: Bool = false, _ body: (ProgramItem) throws -> Void
    ) throws {
        for chat in try chat.map({ [$0] }) ?? chats().map(\.chat) {
            var last: UInt64?
            repeat {
                let page = try answer(
                    to: ItemsRequest(
                        chat: chat, states: states, after: last,
                        count: hash ? Self.hashedCount : ControlProtocol.maxCount, hash: hash ? true : nil))
                for item in page.items { try body(item) }
                last = page.next
            } while last != nil
        }
    }

    /// Returns the entry at a path below the mountpoint.
    public func item(at path: String, hash: Bool = false) throws -> ProgramItem {
        try answer(to: ItemRequest(path: path, hash: hash ? true : nil)).item
    }

    /// Returns the counters and latencies of the mount.
    public func metrics() throws -> [MetricFamily] {
        try answer(to: BareRequest<MetricsAnswer>(method: .getMetrics)).metrics
    }

    /// - Parameter chat: The chat by its folder, name or reference.
    public func markRead(_ chat: String) throws {
        _ = try answer(to: ChatRequest(method: .markRead, chat: chat))
    }

    /// - Parameter relays: Addresses of servers.
    public func approve(_ relays: [String]) throws { _ = try answer(to: ApprovalRequest(relays: relays)) }

    public func setSuspended(_ isSuspended: Bool) throws {
        _ = try answer(to: BareRequest<DoneAnswer>(method: isSuspended ? .suspend : .resume))
    }

    public func subscribe() throws { _ = try answer(to: SubscribeRequest()) }

    /// Waits for the next event after `subscribe`. Returns nil once `isEnded`, polled every half second, returns true.
    /// - Throws: `.noAnswer` if the daemon hung up, `.malformed`, `.system`.
    public func nextEvent(unless isEnded: () -> Bool) throws(DesktopError) -> ProgramEvent? {
        while !isEnded() {
            guard channel.hasLine(within: .milliseconds(500)) else { continue }
            if let event = try receiveEvent() { return event }
        }
        return nil
    }

    /// Waits at most this time; returns true if an event is available.
    /// - Throws: `.noAnswer` if the daemon hung up, `.malformed`, `.system`.
    public func hasEvent(within time: Duration) throws(DesktopError) -> Bool { channel.hasLine(within: time) }

    /// Discards the available events.
    /// - Throws: As `nextEvent`.
    public func dropEvents() throws(DesktopError) {
        while channel.hasLine(within: .zero) { _ = try receiveEvent() }
    }

    /// Returns nil for an event of a later version.
    private func receiveEvent() throws(DesktopError) -> ProgramEvent? {
        struct Head: Decodable { var event: String }
        let line = try channel.readLine()
        if let event = ControlChannel.decoded(ProgramEvent.self, from: line) { return event }
        guard let head = ControlChannel.decoded(Head.self, from: line),
            ProgramEvent.Kind(rawValue: head.event) == nil
        else { throw DesktopError.malformed }
        return nil
    }
}
