import Base

@testable import OfficialCore

/// A scripted core in this process that uses the same frames, decoding and rules as the other transports.
final class ScriptedTransport: OfficialTransport {
    /// Returns the JSON of `resp` for a command text, or nil for no answer.
    typealias Script = @Sendable (_ text: String) async -> String?

    private struct State {
        var commands: [String] = []
        var connection: UInt64 = 1
    }

    private let script: Script
    private let pending = PendingRequests(refusal: nil)
    private let stream = TransportEvents()
    private let state = Lock(State())

    init(_ script: @escaping Script) {
        self.script = script
        stream.tell(.connected)
    }

    private static let disconnected = OfficialCoreError(
        .disconnected, "There is no connection to the SimpleX core at present.")

    func connection(of lane: TransportLane) -> UInt64 { state.withLock { $0.connection } }

    /// The command texts so far, in order.
    var commands: [String] { state.withLock { $0.commands } }

    func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        let text = try command.text()
        return try await pending.request(timeout: timeout) { [self] name throws(OfficialCoreError) in
            let isPresent = state.withLock { state in
                guard connection == nil || connection == state.connection else { return false }
                state.commands.append(text)
                return true
            }
            guard isPresent else { throw Self.disconnected }
            Task {
                guard let response = await script(text) else { return }
                let json = #"{"corrId":"\#(name)","resp":\#(response)}"#
                pending.finish(
                    name,
                    Result { () throws(OfficialCoreError) in
                        guard let frame = APIFrame(Array(json.utf8)) else {
                            throw OfficialCoreError(.notUnderstood, "The script is no JSON: \(response)")
                        }
                        return try frame.answer()
                    })
            }
        }
    }

    /// Emits an event with the JSON of `resp`.
    func tell(_ json: String) { tell(frame: Array(#"{"resp":\#(json)}"#.utf8)) }

    func tell(frame bytes: [UInt8]) {
        if let frame = APIFrame(bytes) { stream.tell(.event(frame.event)) }
    }

    func disconnect() {
        state.withLock { $0.connection += 1 }
        pending.fail(Self.disconnected)
        stream.tell(.disconnected("Scripted."))
    }

    func connect() {
        pending.open()
        stream.tell(.connected)
    }

    func events() -> AsyncStream<TransportEvent> { stream.stream() }

    func close() async {
        pending.fail(OfficialCoreError(.closed, "The connection to the SimpleX core is closed."))
        stream.finish()
    }
}
