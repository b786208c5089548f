import Agent
import Base
import ChatProtocol
import Network
import SMP
import SMPClient
import TestSupport

/// A person whose program sends small files within messages, as before relays for files existed: offered files are sent
/// once, when they are requested by name.
public final class InlineSender: Sendable {
    public struct File: Sendable {
        public let id: SharedMessageID
        public let name: String
        public let bytes: [UInt8]

        public var chunks: [InlineChunk] {
            let length = ProtocolLimits.inlineChunk
            let starts = bytes.isEmpty ? [0] : Array(stride(from: 0, to: bytes.count, by: length))
            return starts.enumerated().map { place, start in
                InlineChunk(
                    of: id, number: UInt8(place + 1),
                    bytes: Array(bytes[start..<min(start + length, bytes.count)]))
            }
        }
    }

    private struct State {
        var contact: ConnectionID?
        var offered: [SharedMessageID: File] = [:]
        var asked: [SharedMessageID] = []
        var heard: [ChatBody.Element] = []
        var isHolding = false
        var listening: Task<Void, Never>?
    }

    private let name: String
    private let agent: Agent
    private let connections: QueueConnections
    private let state = Lock(State())
    private let folder: TemporaryFolder

    /// - Parameter server: The server of its queues.
    public init(named name: String, at server: ServerAddress) async throws {
        folder = try TemporaryFolder()
        self.name = name
        var network = ConnectionSettings(policy: OutboundPolicy(chosen: server.places))
        network.retry = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(100), tries: .max)
        connections = QueueConnections(network)
        var times = AgentTimes()
        times.network = network.retry
        // Without the KEM, whose keys leave no space for a chunk.
        let agent = try Agent(
            path: folder.path("agent.sqlite"), key: nil, servers: connections,
            settings: AgentSettings(servers: [server], times: times))
        self.agent = agent
        try await agent.start()
        let listening = Task { [weak self] in
            for await event in agent.events {
                await self?.take(event)
                try? await agent.acknowledge(event: event.number, withReceipt: true)
            }
        }
        state.withLock { $0.listening = listening }
    }

    public func stop() async {
        await agent.stop()
        await connections.close()
    }

    /// Becomes a contact through a one-time link. Later messages wait for the connection.
    public func join(_ link: String) async throws {
        let own = try ChatBody.write(
            ChatMessage(.information(ContactProfile(displayName: name)), id: nil), capacity: .information,
            compression: nil)
        let contact = try await agent.join(link: link, information: own, confirmation: own)
        state.withLock { $0.contact = contact }
    }

    /// The requested files by their names, in order.
    public var asked: [SharedMessageID] { state.withLock { $0.asked } }
    /// All messages received by this side.
    public var heard: [ChatBody.Element] { state.withLock { $0.heard } }

    /// Stops sending requested files automatically.
    public func hold() { state.withLock { $0.isHolding = true } }

    // MARK: - Files

    /// Offers a file; its chunks are sent on request.
    public func offer(
        _ bytes: [UInt8], named name: String, as content: ChatContent = ChatContent(.file)
    ) async throws -> File {
        try await announce(bytes, name, content, .offeredInline)
    }

    /// Sends a file at once.
    public func send(
        _ bytes: [UInt8], named name: String, as content: ChatContent = ChatContent(.voice(seconds: 1))
    ) async throws -> File {
        let file = try await announce(bytes, name, content, .sentInline)
        for chunk in file.chunks { try await send(chunk) }
        return file
    }

    /// Announces chunks without sending any.
    public func begin(_ bytes: [UInt8], named name: String) async throws -> File {
        try await announce(bytes, name, ChatContent(.voice(seconds: 1)), .sentInline)
    }

    private func announce(
        _ bytes: [UInt8], _ name: String, _ content: ChatContent, _ way: FileInvitation.Way
    ) async throws -> File {
        // Eight bytes: with longer ids a whole chunk does not fit into a message.
        guard let id = SharedMessageID(bytes: SystemRandomSource().bytes(8)) else { throw WaitedInVain("id") }
        let file = File(id: id, name: name, bytes: bytes)
        state.withLock { $0.offered[id] = file }
        let invitation = FileInvitation(name: name, size: UInt64(bytes.count), way: way)
        try await say(.message(NewMessage(content, file: invitation)), id)
        return file
    }

    public func send(_ chunk: InlineChunk) async throws { try await send(chunk.encoded) }

    public func say(
        _ event: MessageEvent, _ id: SharedMessageID = SharedMessageID(from: SystemRandomSource())
    ) async throws {
        try await send(ChatBody.write(ChatMessage(event, id: id), capacity: .message, compression: nil))
    }

    /// Sends compressed JSON of another program, which our own writer would never produce.
    public func say(json: String) async throws {
        guard let frame = Zstandard.installed?.compress(Array(json.utf8)) else { throw WaitedInVain("zstd") }
        var body: [UInt8] = [UInt8(ascii: "X"), 1, UInt8(ascii: "1")]
        body.append(large: frame)
        try await send(body)
    }

    private func send(_ body: [UInt8]) async throws {
        guard let contact = state.withLock({ $0.contact }) else { throw WaitedInVain("nobody is a contact") }
        _ = try await agent.send(body, to: contact, notifies: false, identifier: nil)
    }

    private func take(_ event: AgentEvent) async {
        guard case .received(let received) = event.content else { return }
        for element in (try? ChatBody.read(received.body, compression: Zstandard.installed)) ?? [] {
            state.withLock { $0.heard.append(element) }
            guard case .message(let message) = element, case .fileAccepted(let id, let name) = message.event
            else { continue }
            let wanted = state.withLock { state -> File? in
                guard let file = state.offered[id], file.name == name else { return nil }
                state.asked.append(id)
                // Like the official program, which keeps one transfer of a file for each contact.
                return state.isHolding || state.asked.count { $0 == id } > 1 ? nil : file
            }
            for chunk in wanted?.chunks ?? [] { try? await send(chunk) }
        }
    }
}
