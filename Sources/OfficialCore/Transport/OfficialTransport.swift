import Base
import ChatCore

/// The way to an official core: its library in this process, its program over a WebSocket, a phone's over its sessions.
///
/// Contract: a request is sent once, never repeated by the transport; it returns the core's answer, or throws
/// `.refused` with the core's error, or fails otherwise. After `.timeout`, `.broken`, `.cancelled`, `.interrupted`
/// and `.notUnderstood` it is not known whether the core carried it out; after every other error it has not.
/// Requests of one lane are carried out in the order they were made, the two lanes at once. Events come in the
/// order in which the core told them, each once, to the one stream; they may be lost whenever the connection breaks
/// or another client is attached, so after each `.connected` the listener reads the state anew. A transport
/// connects by itself and again after every break; requests made meanwhile fail at once with `.disconnected`, and
/// nothing of them is sent later. Each connection of a lane has a number of its own, since another core may answer
/// at the next one. No method blocks a thread of the cooperative pool. `close` ends everything that the transport
/// began, and returns when the core (where it is ours) has ended.
public protocol OfficialTransport: Sendable {
    /// - Parameter connection: the only connection of the lane over which it may go, else `.disconnected`; nil: any.
    /// - Throws: `.refused`, `.invalidCommand`, `.disconnected`, `.broken`, `.timeout`, `.cancelled`, `.closed`,
    ///   `.interrupted`, `.notUnderstood`.
    func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse

    /// The number of the present connection of a lane, or of the last one. Never one that it had before.
    func connection(of lane: TransportLane) -> UInt64

    /// For one listener: a second call takes the events from the first.
    func events() -> AsyncStream<TransportEvent>

    /// How the files of a core on another machine come and go; nil: they lie in a folder of this machine.
    var remoteFiles: (any RemoteFiles)? { get }

    func close() async
}

/// Who waits for a command: the core works on the commands of one lane one after another.
public enum TransportLane: Hashable, Sendable, CaseIterable {
    /// Somebody is waiting: receiving, sending, state.
    case foreground
    /// Filling in the history.
    case background
}

public enum TransportEvent: Hashable, Sendable {
    case event(APIEvent)
    /// Commands can be made. What happened before may have been missed.
    case connected
    /// Until the next `.connected`; the sentence says why.
    case disconnected(String)
}

extension OfficialTransport {
    public var remoteFiles: (any RemoteFiles)? { nil }

    /// Over whichever connection there is.
    /// - Throws: as `request` of the protocol.
    public func request(
        _ command: APICommand, lane: TransportLane = .foreground, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> APIResponse {
        try await request(command, lane: lane, timeout: timeout, connection: nil)
    }

    /// The groups of a user, in whichever spelling the core knows.
    /// - Throws: as `request`; `.notUnderstood` for another answer.
    public func groups(
        of user: Int64, lane: TransportLane = .foreground, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> [APIChatInfo] {
        do throws(OfficialCoreError) {
            return try await groups(user, spaced: true, lane, timeout)
        } catch {
            guard error.refusal?.has("commandError") == true else { throw error }
            return try await groups(user, spaced: false, lane, timeout)
        }
    }

    private func groups(
        _ user: Int64, spaced: Bool, _ lane: TransportLane, _ timeout: Duration
    ) async throws(OfficialCoreError) -> [APIChatInfo] {
        let command = APICommand.groups(user: user, spaced: spaced)
        guard case .groups(let groups) = try await request(command, lane: lane, timeout: timeout) else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no list of groups.")
        }
        return groups
    }
}
