import Base
import Posix

/// A command's request to a relay, through the socket in the relay's directory: one line of JSON.
public struct RelayRequest: Hashable, Sendable, Codable {
    /// Maximum age in seconds of queues without use since their creation, and of idle queues. Older ones are deleted.
    public var unused: Int64?
    public var idle: Int64?
    /// Maximum age of chunks in seconds.
    public var chunks: Int64?
    /// True to delete all data of the relay.
    public var everything: Bool?

    /// Creates a request that deletes nothing and reports the state.
    public init() {}

    public var isPurge: Bool { self != RelayRequest() }

    /// True if all ages are in range.
    public var isSensible: Bool {
        [unused, idle, chunks].allSatisfy { (0...Self.longest).contains($0 ?? 0) }
    }

    /// A hundred years in seconds.
    public static let longest: Int64 = 100 * 366 * 86_400
}

/// The relay's state after the request.
public struct RelayAnswer: Hashable, Sendable, Codable {
    /// The state of the message relay or the file relay.
    public struct Part: Hashable, Sendable, Codable {
        /// Used bytes and their quota; nil if only the disk limits them.
        public var bytes: UInt64
        public var quota: UInt64?
        /// Number of queues or chunks, and of the unused or incomplete ones among them.
        public var count: Int
        public var unfinished: Int
        /// Number of undelivered messages.
        public var messages: Int?
        /// Number of open connections; nil if the relay is not running.
        public var connections: Int?
        /// Number of deleted queues or chunks.
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
    /// A sentence that tells why the request failed.
    public var problem: String?

    public init(messages: Part? = nil, files: Part? = nil, problem: String? = nil) {
        self.messages = messages
        self.files = files
        self.problem = problem
    }
}

/// The relay's end of its control socket. Accepts at most four connections, of the same user only.
public final class RelayControlServer: Sendable {
    private let listener: SocketListener

    /// Starts listening.
    /// - Parameters:
    ///   - folder: The relay's directory, whose lock this process holds.
    ///   - answer: Carries out a request.
    /// - Throws: `.system` if the socket cannot be created.
    public init(
        folder: String, answer: @escaping @Sendable (RelayRequest) async -> RelayAnswer
    ) throws(DesktopError) {
        listener = try SocketListener(
            in: ControlSocket.openFolder(folder), named: ControlSocket.name,
            threads: ("relay-control", "relay-peer"), limit: 4
        ) { Self.converse(ControlChannel($0, timeout: .seconds(10)), answer) }
    }

    /// Stops listening.
    public func stop() { listener.stop() }

    private static func converse(
        _ channel: ControlChannel, _ answer: @escaping @Sendable (RelayRequest) async -> RelayAnswer
    ) {
        // Closes the connection after invalid input or a hang-up.
        while let request = try? channel.receive(RelayRequest.self), request.isSensible {
            guard (try? channel.send(BlockingTask.value { await answer(request) })) != nil else { return }
        }
    }
}

/// A command's end of the relay's control socket.
public enum RelayControlClient {
    /// Sends a request to the relay of a directory; nil if none is running. Blocks.
    /// - Throws: `.noAnswer`, `.malformed`, `.system`; `.refused` with the relay's reason.
    public static func ask(_ request: RelayRequest, folder: String) throws(DesktopError) -> RelayAnswer? {
        guard let socket = try ControlSocket.connect(in: ControlSocket.openFolder(folder)) else { return nil }
        let channel = ControlChannel(socket, timeout: .seconds(600))
        try channel.send(request)
        let answer = try channel.receive(RelayAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer
    }
}
