import Base
import Cryptography
import Network

/// Makes the bodies of requests. Numbers and keys follow the order of streams, so it belongs to the thread that opens
/// them.
struct RequestSealer {
    private var chain: MessageChain
    private let signer: MessageSigner
    private var last: UInt32 = 0

    init(_ chain: MessageChain, signer: MessageSigner) {
        self.chain = chain
        self.signer = signer
    }

    /// - Parameter attachment: The file of the request, or nil.
    /// - Throws: `.limit` for a file that is too long, and after 2³²−1 requests. A taken number is then lost, and the
    ///   phone skips it.
    mutating func seal(
        _ json: [UInt8], attachment: (any BodySource)? = nil
    ) throws(RemoteControlError) -> any BodySource {
        guard last < UInt32.max else {
            throw RemoteControlError(.limit, "This connection permits no more requests.")
        }
        last += 1
        let keys = chain.nextMessage()
        let head = BytesBody(try signer.head(of: json, number: last, key: keys.body))
        guard let attachment else { return head }
        return JoinedBody([head, try SealedAttachment(attachment, key: keys.attachment)])
    }
}
