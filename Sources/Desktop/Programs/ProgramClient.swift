import Base
import Glibc
import Posix

/// A command's end of the program socket. All calls block; one thread at a time.
public final class ProgramClient: Sendable {
    /// Timeout of requests that need nothing but the daemon.
    private static let timeout = Duration.seconds(120)
    /// Maximum number of files hashed per reply, so that it is quick.
    private static let hashedCount = 16

    public let greeting: ProgramGreeting
    private let channel: ControlChannel
    private let lastID = Lock<Int64>(0)

    /// - Parameter path: Path of the socket from `status.json`.
    /// - Throws: `.system` if no process listens, `.malformed` for another protocol version, `.noAnswer`.
    public init(path: String) throws(DesktopError) {
        guard let name = path.lastPathName,
            let socket = try ControlSocket.connect(in: ControlSocket.openFolder(path.parentPath), named: name)
        else { throw DesktopError(SystemError(code: ECONNREFUSED, operation: "reach the mount's process")) }
        channel = ControlChannel(socket, timeout: Self.timeout)
        greeting = try channel.receive(ProgramGreeting.self)
        guard greeting.chatfs == ProgramProtocol.version else { throw DesktopError.malformed }
    }

    /// Sends a request, with an id of its own, and returns the result. Must not be called after `subscribe`.
    /// - Throws: `ProgramError` with the daemon's error; `DesktopError` `.noAnswer`, `.malformed`, `.system`, or
    ///   `.refused` for data that exceeds a line.
    public func ask(_ request: ProgramRequest) throws -> ProgramResult {
        let id: Int64 = lastID.withLock {
            $0 += 1
            return $0
        }
        try channel.send(ControlCall(id: id, request: request))
        return try channel.receive(ProgramResult.self, to: id).get()
    }

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
                        count: hash ? Self.hashedCount : ProgramProtocol.maxCount, hash: hash ? true : nil))
                for item in result.items ?? [] { try body(item) }
                last = result.next
            } while last != nil
        }
    }
}
