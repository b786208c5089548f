import Base
import Cryptography
import Network

/// Makes the bodies of requests. Numbers and keys are taken in the order in which streams are opened, so it belongs to
/// the thread that opens them.
struct RequestSealer {
    private var chain: MessageChain
    private let signer: MessageSigner
    private var last: UInt32 = 0

    init(_ chain: MessageChain, signer: MessageSigner) {
        self.chain = chain
        self.signer = signer
    }

    /// - Parameter attachment: a file behind the request; nil: none.
    /// - Throws: `.limit` for a file that is too long, and after 2³²−1 requests. A number that was taken is lost then,
    ///   which the phone passes over.
    mutating func seal(
        _ json: [UInt8], attachment: (any BodySource)? = nil
    ) throws(RemoteControlError) -> any BodySource {
        guard last < UInt32.max else {
            throw RemoteControlError(.limit, "No more requests can be made over this connection.")
        }
        last += 1
        let keys = chain.nextMessage()
        let head = BytesBody(try signer.head(of: json, number: last, key: keys.body))
        guard let attachment else { return head }
        return JoinedBody([head, try SealedAttachment(attachment, key: keys.attachment)])
    }
}
