/// The DER forms of SimpleX keys: X.509 SubjectPublicKeyInfo for public keys, PKCS#8 for private keys (RFC 8410). Each
/// is a fixed prefix and the raw key.
enum KeyForm {
    case ed25519Public
    case ed448Public
    case x25519Public
    case x448Public
    case ed25519Private
    case x25519Private

    private var prefix: [UInt8] {
        switch self {
        case .ed25519Public: [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
        case .ed448Public: [0x30, 0x43, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x71, 0x03, 0x3a, 0x00]
        case .x25519Public: [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00]
        case .x448Public: [0x30, 0x42, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6f, 0x03, 0x39, 0x00]
        case .ed25519Private:
            [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
        case .x25519Private:
            [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20]
        }
    }

    private var rawLength: Int {
        switch self {
        case .ed448Public: 57
        case .x448Public: 56
        case .ed25519Public, .x25519Public, .ed25519Private, .x25519Private: 32
        }
    }

    func encode(_ raw: [UInt8]) -> [UInt8] { prefix + raw }

    /// Returns the raw key, or nil if the bytes have another form or length.
    func decode(_ encoded: [UInt8]) -> [UInt8]? {
        guard encoded.count == prefix.count + rawLength, encoded.starts(with: prefix) else { return nil }
        return Array(encoded[prefix.count...])
    }
}
