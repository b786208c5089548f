/// The relay's X25519 key in its hello, signed by its leaf certificate: `SEQUENCE { key, AlgorithmIdentifier, BIT
/// STRING }`. The signature covers the DER of the first element, usually the SubjectPublicKeyInfo in one more SEQUENCE.
public struct SignedKey: Hashable, Sendable {
    /// The key as SubjectPublicKeyInfo.
    public let key: [UInt8]
    private let signedBytes: [UInt8]
    private let signature: [UInt8]

    /// Decodes the DER. Returns nil for other forms.
    public init?(_ der: [UInt8]) {
        guard var fields = DERReader.sequence(der), let key = fields.next(DERReader.sequence),
            fields.next(DERReader.sequence) != nil, let bits = fields.next(DERReader.bitString),
            fields.isAtEnd, bits.content.first == 0
        else { return nil }
        signedBytes = key.whole
        signature = Array(bits.content.dropFirst())
        var inner = DERReader(key.content)
        guard let first = inner.next(DERReader.sequence) else { return nil }
        self.key = inner.isAtEnd ? first.whole : key.whole
    }

    public func isSigned(by leaf: VerifyingKey) -> Bool { leaf.isValid(signature, for: signedBytes) }

    /// Returns the bytes that a leaf key signs for the SubjectPublicKeyInfo `key`.
    public static func bytesToSign(for key: [UInt8]) -> [UInt8] { DERReader.encode(DERReader.sequence, key) }

    /// Encodes the DER for the hello.
    /// - Parameter algorithmIdentifier: The DER of the leaf key's algorithm.
    public static func encode(key: [UInt8], algorithmIdentifier: [UInt8], signature: [UInt8]) -> [UInt8] {
        DERReader.encode(
            DERReader.sequence,
            bytesToSign(for: key) + algorithmIdentifier
                + DERReader.encode(DERReader.bitString, [0] + signature))
    }

    /// Returns the SubjectPublicKeyInfo of a certificate (RFC 5280), or nil if the DER is no certificate.
    public static func publicKey(ofCertificate der: [UInt8]) -> [UInt8]? {
        guard var fields = DERReader.sequence(der), let body = fields.next(DERReader.sequence) else {
            return nil
        }
        var parts = DERReader(body.content)
        _ = parts.next(0xa0)  // version
        // Skip serial number, signature algorithm, issuer, validity and subject.
        for _ in 0..<5 {
            guard parts.next() != nil else { return nil }
        }
        return parts.next(DERReader.sequence)?.whole
    }
}
