import Base
import JSON
import RemoteControl

/// The core of a phone, over sessions that its user starts: the phone connects to this computer and is
/// disconnected between sessions. Only commands in `PhoneCommand` are sent; others fail like commands that
/// the core does not support.
public final class PhoneTransport: OfficialTransport {
    private struct State {
        var connection: PhoneConnection?
        /// Number of sessions.
        var number: UInt64 = 0
        var waiting: Task<Void, Never>?
        var isClosed = false
    }

    public let remoteFiles: (any RemoteFiles)?
    private let stream = TransportEvents()
    /// Places for events that the listener has not taken. The others wait in the queue of their session.
    private let places = AsyncSemaphore(PhoneTransport.maxEvents)
    private let lanes: [TransportLane: PhoneLane]
    private let state: Lock<State>

    private static let maxEvents = 8

    private init() {
        let state = Lock(State())
        self.state = state
        lanes = Dictionary(uniqueKeysWithValues: TransportLane.allCases.map { ($0, PhoneLane()) })
        remoteFiles = PhoneFiles(connection: { state.withLock { $0.connection } })
    }

    /// Waits for the paired phone, or for a new one, again after each session.
    public static func start(
        _ settings: PhoneTransportSettings, pairing: PairingStore
    ) -> PhoneTransport {
        let transport = PhoneTransport()
        let listener = PhoneSessionListener(
            began: { [weak transport] in transport?.began($0) },
            lost: { [weak transport] in transport?.lostEvents() },
            told: { [weak transport] in await transport?.tell($0) },
            ended: { [weak transport] in transport?.ended($0) },
            silent: { [weak transport] in transport?.silent($0, $1) })
        let task = Task {
            let waiting = PhoneWaiting(settings, pairing)
            while !Task.isCancelled { await waiting.haveSession(listener) }
        }
        transport.state.withLock { $0.waiting = task }
        return transport
    }

    deinit { state.withLock { $0.waiting }?.cancel() }

    // MARK: - Requests

    public func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        let (present, number) = state.withLock { ($0.connection, $0.number) }
        guard let present, connection == nil || connection == number else { throw PhoneErrors.away }
        let text = try command.text()
        let allowed: PhoneCommand
        do throws(RemoteControlError) {
            allowed = try PhoneCommand(text, isAsked: command.isAskedByUser)
        } catch {
            throw OfficialCoreError(refusal: PhoneErrors.unknownCommand)
        }
        guard let lane = lanes[lane] else { throw PhoneErrors.away }
        return try await lane.request(timeout: timeout) { () async throws(OfficialCoreError) in
            guard present.isPresent else { throw PhoneErrors.away }
            return try await Self.ask(allowed, present)
        } late: { [stream] response in
            // The request has expired, but only this answer contains the sent item.
            guard case .newChatItems(let items) = response else { return }
            stream.tell(.event(APIEvent(userID: nil, kind: .newChatItems(items))))
        }
    }

    private static func ask(
        _ command: PhoneCommand, _ connection: PhoneConnection
    ) async throws(OfficialCoreError) -> APIResponse {
        let answer: PhoneAnswer
        do {
            let request = PhoneRequest.command(command, retry: 0)
            answer =
                command.mayBeRepeated
                ? try await connection.askWhileHeard(request) : try await connection.ask(request)
        } catch {
            throw PhoneErrors.error(error)
        }
        guard case .response(let json) = answer else { throw PhoneErrors.unexpected(answer) }
        return APIResponse(json)
    }

    public func connection(of lane: TransportLane) -> UInt64 { state.withLock { $0.number } }

    public func events() -> AsyncStream<TransportEvent> {
        let events = stream.stream()
        return AsyncStream<TransportEvent>(unfolding: { [places] in
            var iterator = events.makeAsyncIterator()
            let event = await iterator.next(isolation: nil)
            if case .event = event { places.release() }
            return event
        })
    }

    public func close() async {
        let (connection, waiting) = state.withLock { state in
            state.isClosed = true
            defer { (state.connection, state.waiting) = (nil, nil) }
            return (state.connection, state.waiting)
        }
        connection?.close()
        waiting?.cancel()
        await waiting?.value
        stream.finish()
    }

    // MARK: - Sessions

    private func began(_ connection: PhoneConnection) {
        let isWanted = state.withLock { state in
            guard !state.isClosed else { return false }
            state.connection = connection
            state.number += 1
            return true
        }
        if isWanted { stream.tell(.connected) } else { connection.close() }
    }

    /// Passes an event on as soon as there is a place.
    private func tell(_ event: APIEvent) async {
        // Cancelled at the end of the session.
        guard await places.acquire() else { return }
        stream.tell(.event(event))
    }

    /// Reports a disconnection, so that the listener reads the state again.
    private func lostEvents() {
        stream.tell(.disconnected("Events of the phone were lost."))
        stream.tell(.connected)
    }

    /// A silent phone counts as away. If it answers again, the state is read anew.
    private func silent(_ connection: PhoneConnection, _ isSilent: Bool) {
        guard state.withLock({ $0.connection === connection }) else { return }
        stream.tell(isSilent ? .disconnected(PhoneErrors.silent.sentence) : .connected)
    }

    private func ended(_ connection: PhoneConnection) {
        let isPresent = state.withLock { state in
            guard state.connection === connection else { return false }
            state.connection = nil
            return true
        }
        if isPresent { stream.tell(.disconnected(PhoneErrors.away.sentence)) }
    }
}

extension APICommand {
    /// True for commands that need an explicit request by the user: rm on a mount that allows it, a command,
    /// or an option.
    fileprivate var isAskedByUser: Bool {
        switch self {
        case .deleteItems, .markRead: true
        default: false
        }
    }
}
