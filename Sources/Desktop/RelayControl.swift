import Base
import Posix

/// What a command asks of the process of a relay, over the socket in the relay's folder: one line of JSON.
public struct RelayRequest: Hashable, Sendable, Codable {
    /// Seconds after which queues go that nobody has used since they were made, and those that nobody has used for so long.
    public var unused: Int64?
    public var idle: Int64?
    /// Seconds after which chunks go.
    public var chunks: Int64?
    /// Whether everything goes that the relay keeps.
    public var everything: Bool?

    /// Nothing goes: the answer says what there is.
    public init() {}

    public var isPurge: Bool { self != RelayRequest() }

    /// Whether all times can be meant.
    public var isSensible: Bool {
        [unused, idle, chunks].allSatisfy { (0...Self.longest).contains($0 ?? 0) }
    }

    /// A hundred years.
    public static let longest: Int64 = 100 * 366 * 86_400
}

/// What the relay has, after what was asked is done.
public struct RelayAnswer: Hashable, Sendable, Codable {
    /// One of its parts.
    public struct Part: Hashable, Sendable, Codable {
        /// Bytes of the quota in use, and the quota; nil: none but the disk.
        public var bytes: UInt64
        public var quota: UInt64?
        /// Queues or chunks, and how many of them are unused or not brought yet.
        public var count: Int
        public var unfinished: Int
        /// Messages that nobody has fetched.
        public var messages: Int?
        /// Connections that are open; nil where no relay runs.
        public var connections: Int?
        /// Queues or chunks that went.
        public var purged: Int?

        public init(bytes: UInt64, quota: UInt64?, count: Int, unfinished: Int, messages: Int? = nil) {
            self.bytes = bytes
            self.quota = quota
            self.count = count
            self.unfinished = unfinished
            self.messages = messages
        }
    }

    public var messages: Part?
    public var files: Part?
    /// Why it was not done.
    public var problem: String?

    public init(messages: Part? = nil, files: Part? = nil, problem: String? = nil) {
        self.messages = messages
        self.files = files
        self.problem = problem
    }
}

/// The relay's end of its socket. Only processes of the same user are heard, at most four at once.
public final class RelayControlServer: Sendable {
    private let listener: SocketListener

    /// Listens from now on.
    /// - Parameters:
    ///   - folder: of the relay, whose lock this process holds.
    ///   - answer: does what is asked.
    /// - Throws: `.system` where the socket cannot be made.
    public init(
        folder: String, answer: @escaping @Sendable (RelayRequest) async -> RelayAnswer
    ) throws(DesktopError) {
        do throws(SystemError) {
            listener = try SocketListener(
                in: ControlSocket.openFolder(folder), named: ControlSocket.name,
                threads: ("relay-control", "relay-peer"), limit: 4
            ) { Self.converse(ControlChannel($0, timeout: .seconds(10)), answer) }
        } catch {
            throw DesktopError(error)
        }
    }

    /// Hears nobody any longer.
    public func stop() { listener.stop() }

    private static func converse(
        _ channel: ControlChannel, _ answer: @escaping @Sendable (RelayRequest) async -> RelayAnswer
    ) {
        // Who hangs up, or says what makes no sense, is answered nothing more.
        while let request = try? channel.receive(RelayRequest.self), request.isSensible {
            guard (try? channel.send(BlockingTask.value { await answer(request) })) != nil else { return }
        }
    }
}

/// A command's end of it.
public enum RelayControlClient {
    /// Asks the relay of a folder; nil when none runs there. Blocks.
    /// - Throws: `.noAnswer`, `.malformed`, `.system`; `.refused` with the relay's reason.
    public static func ask(_ request: RelayRequest, folder: String) throws(DesktopError) -> RelayAnswer? {
        let socket: OpenFile?
        do throws(SystemError) {
            socket = try ControlSocket.connect(in: ControlSocket.openFolder(folder))
        } catch {
            throw DesktopError(error)
        }
        guard let socket else { return nil }
        let channel = ControlChannel(socket, timeout: .seconds(600))
        try channel.send(request)
        let answer = try channel.receive(RelayAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer
    }
}
