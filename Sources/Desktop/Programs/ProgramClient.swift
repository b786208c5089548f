import Base
import Glibc
import Posix

/// A program's end of the socket, for commands. All calls block; one thread at a time.
public final class ProgramClient: Sendable {
    /// How long the daemon may take for what needs nobody else.
    private static let timeout = Duration.seconds(120)
    /// Files whose bytes are read for one answer, at most: it comes in time.
    private static let hashedCount = 16

    public let greeting: ProgramGreeting
    private let channel: ControlChannel
    private let lastID = Lock<Int64>(0)

    /// - Parameter path: of the socket, as `status.json` tells it.
    /// - Throws: `.system` where nobody listens; `.malformed` for another version; `.noAnswer`.
    public init(path: String) throws(DesktopError) {
        do throws(SystemError) {
            guard let name = path.lastPathName,
                let socket = try ControlSocket.connect(
                    in: ControlSocket.openFolder(path.parentPath), named: name)
            else { throw SystemError(code: ECONNREFUSED, operation: "reach the mount's process") }
            channel = ControlChannel(socket, timeout: Self.timeout)
        } catch {
            throw DesktopError(error)
        }
        greeting = try channel.receive(ProgramGreeting.self)
        guard greeting.chatfs == ProgramProtocol.version else { throw DesktopError.malformed }
    }

    /// Has the daemon carry a request out, whatever its id. Not after `subscribe`.
    /// - Throws: `ProgramError` with what the daemon answers; `DesktopError` `.noAnswer`, `.malformed`,
    ///   `.system`, `.refused` for more than a line holds.
    public func ask(_ request: ProgramRequest) throws -> ProgramResult {
        var request = request
        request.id = lastID.withLock {
            $0 += 1
            return $0
        }
        try channel.send(request)
        let answer = try channel.receive(ProgramAnswer.self)
        guard answer.id == request.id else { throw DesktopError.malformed }
        if let problem = answer.error { throw ProgramError(problem.code, problem.message) }
        guard let result = answer.result else { throw DesktopError.malformed }
        return result
    }

    /// - Throws: as `ask`.
    public func subscribe() throws { _ = try ask(ProgramRequest(.subscribe)) }

    /// The next event after `subscribe`, however long it takes. Nil once `isEnded` says so, which is asked every
    /// half second.
    /// - Throws: `.noAnswer` where the daemon has hung up, `.malformed`, `.system`.
    public func nextEvent(unless isEnded: () -> Bool) throws(DesktopError) -> ProgramEvent? {
        while !isEnded() {
            if channel.hasLine(within: .milliseconds(500)) { return try channel.receive(ProgramEvent.self) }
        }
        return nil
    }

    /// Whether an event has come, or comes within this time.
    /// - Throws: `.noAnswer` where the daemon has hung up; `.malformed`, `.system`.
    public func hasEvent(within time: Duration) throws(DesktopError) -> Bool { channel.hasLine(within: time) }

    /// Takes the events that have come already, for who looks at everything anyway.
    /// - Throws: as `nextEvent`.
    public func dropEvents() throws(DesktopError) {
        while channel.hasLine(within: .zero) { _ = try channel.receive(ProgramEvent.self) }
    }

    /// All items of a chat, or of all, in pages.
    /// - Throws: as `ask`; what `body` throws.
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
