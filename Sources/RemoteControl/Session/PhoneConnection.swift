import Base
import Cryptography
import Network

/// A session with a phone: concurrent requests and their answers. Safe to use from any thread.
///
/// The phone may perform concurrent requests in another order: if order matters, wait for the answer.
public final class PhoneConnection: Sendable {
    public let phone: PhoneApp
    private let client: DrainingClient
    private let channelBinding: [UInt8]
    private let sealer: Lock<RequestSealer>
    private let receiving: Lock<ReceivingChain>
    private let timeout: Duration

    /// The same as `timeout` for an event. Longer than the wait, the longest freeze that a session survives and
    /// the phone's own limit together, so that the phone never has two such requests at once.
    private static let eventTimeout = Duration.seconds(240)

    init(_ client: DrainingClient, _ opened: OpenedSession, timeout: Duration) {
        self.client = client
        self.timeout = timeout
        phone = opened.phone
        channelBinding = opened.signer.channelBinding
        sealer = Lock(RequestSealer(opened.hello.sending, signer: opened.signer))
        receiving = Lock(ReceivingChain(opened.hello.receiving))
    }

    public var isOpen: Bool { client.isOpen }
    /// Whether the phone is silent: asleep or unreachable, and perhaps back later.
    public var isSilent: Bool { client.isSilent }

    public func close() { client.close() }

    /// - Parameters:
    ///   - attachment: The content for `storeFile`.
    ///   - file: Receives the content of `fetchFile`. Use nothing of it before this returns.
    /// - Throws: `.closed`, `.timeout` or `.cancelled` if the phone may have performed the request; `.malformed`,
    ///   `.notAuthentic`, `.limit`, `.configuration`; errors of `file` and `attachment`. An inauthentic answer closes
    ///   the connection.
    public func ask(
        _ request: PhoneRequest, attachment: (any BodySource)? = nil, file: (any BodySink)? = nil
    ) async throws -> PhoneAnswer {
        let json = try request.json()
        var timeout = timeout
        if case .nextEvent = request { timeout = Self.eventTimeout }
        let answer = AnswerSink(channelBinding: channelBinding, file: file) { [receiving] number in
            try receiving.withLock { chain throws(RemoteControlError) in try chain.keys(of: number) }
        }
        do {
            try await client.send(
                { [sealer] in
                    try sealer.withLock { sealer throws(RemoteControlError) in
                        try sealer.seal(json, attachment: attachment)
                    }
                }, to: answer, timeout: timeout)
            return try answer.finish()
        } catch {
            let reason = Self.reason(error)
            if let reason = reason as? RemoteControlError,
                reason.code == .notAuthentic || reason.code == .malformed
            {
                client.close()
            }
            throw reason
        }
    }

    /// Maps an error of the network, or returns its cause.
    private static func reason(_ error: any Error) -> any Error {
        guard let error = error as? NetworkError else { return error }
        switch error.code {
        case .timeout:
            return RemoteControlError(.timeout, "The phone did not answer in time.", cause: error)
        case .cancelled: return RemoteControlError(.cancelled, error.sentence, cause: error)
        case .body: return error.cause ?? error
        default: return RemoteControlError(.closed, error.sentence, cause: error)
        }
    }
}
