import Base
import Cryptography
import Network

/// A session with a phone: requests and their answers, side by side. Any thread.
///
/// Requests that are made at once may be carried out in another order: where order matters, wait for the answer.
public final class PhoneConnection: Sendable {
    public let phone: PhoneApp
    private let client: DrainingClient
    private let channelBinding: [UInt8]
    private let sealer: Lock<RequestSealer>
    private let receiving: Lock<ReceivingChain>

    /// The longest that nothing of a request may move: the phone gives one up after 60 seconds without a word.
    private static let patience = Duration.seconds(65)

    init(_ client: DrainingClient, _ opened: OpenedSession) {
        self.client = client
        phone = opened.phone
        channelBinding = opened.signer.channelBinding
        sealer = Lock(RequestSealer(opened.hello.sending, signer: opened.signer))
        receiving = Lock(ReceivingChain(opened.hello.receiving))
    }

    public var isOpen: Bool { client.isOpen }
    /// Whether the phone has said nothing for a while: it is asleep, or out of reach, and may come back.
    public var isSilent: Bool { client.isSilent }

    public func close() { client.close() }

    /// - Parameters:
    ///   - attachment: what `storeFile` stores.
    ///   - file: takes what `fetchFile` fetches. Nothing that it was given may be used before this returned.
    /// - Throws: `.closed`, `.timeout`, `.cancelled` (it is not known what the phone did), `.malformed`, `.notAuthentic`,
    ///   `.limit`, `.configuration`; what `file` and `attachment` throw. The connection is closed after an answer that is
    ///   not authentic.
    public func ask(
        _ request: PhoneRequest, attachment: (any BodySource)? = nil, file: (any BodySink)? = nil
    ) async throws -> PhoneAnswer {
        let json = try request.json()
        let answer = AnswerSink(channelBinding: channelBinding, file: file) { [receiving] number in
            try receiving.withLock { chain throws(RemoteControlError) in try chain.keys(of: number) }
        }
        do {
            try await client.send(
                { [sealer] in
                    try sealer.withLock { sealer throws(RemoteControlError) in
                        try sealer.seal(json, attachment: attachment)
                    }
                }, to: answer, patience: Self.patience)
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

    /// The error of this module that a network's error is here, or what lay beneath it.
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
