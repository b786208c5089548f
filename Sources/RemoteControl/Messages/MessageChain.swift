import Cryptography

/// The key and nonce of one box.
struct BoxKey {
    let key: WipedBytes
    let nonce: [UInt8]
}

/// The two boxes of a message: its JSON, and the attachment, which takes a step of the chain even if absent.
struct MessageKeys {
    let body: BoxKey
    let attachment: BoxKey
}

/// The keys of one direction of a session. Each is derived from the previous one, which is dropped. A value.
struct MessageChain {
    private var key: WipedBytes

    /// The chains of this side and of the phone.
    /// - Parameters:
    ///   - agreement: The raw X25519 secret.
    ///   - encapsulated: The secret of the KEM.
    static func begin(
        agreement: WipedBytes, encapsulated: WipedBytes
    ) -> (sending: MessageChain, receiving: MessageChain) {
        let joined = WipedBytes(joining: [agreement, encapsulated])
        var secret = joined.withUnsafeBytes { SHA3.hash256(Array($0)) }
        let keys = HKDF.derive(from: WipedBytes(taking: &secret), info: "SimpleXSbChainInit", count: 64)
        return (MessageChain(key: keys[0..<32]), MessageChain(key: keys[32..<64]))
    }

    mutating func next() -> BoxKey {
        let derived = HKDF.derive(from: key, info: "SimpleXSbChain", count: 88)
        key = derived[0..<32]
        return BoxKey(key: derived[32..<64], nonce: derived[64..<88].bytes)
    }

    mutating func nextMessage() -> MessageKeys {
        let body = next()
        return MessageKeys(body: body, attachment: next())
    }
}
