import Base
import COpenSSL

/// A certificate to sign.
struct CertificateRequest {
    var commonName: String
    var key: PrivateKey
    /// Whether it may sign others.
    var isAuthority: Bool

    /// The seconds of a hundred years, and of a day as the tolerance for clocks.
    private static let validity = 36_525 * 86_400
    private static let margin = 86_400

    /// Signs with `key`, which belongs to `issuer`, or to the certificate itself if that is nil.
    func signed(by issuer: Certificate?, key issuerKey: PrivateKey) throws(NetworkError) -> Certificate {
        guard let pointer = X509_new() else { throw failure() }
        let certificate = Certificate(adopting: pointer)
        var serial: UInt64 = 0
        for byte in SystemRandomSource().bytes(8) { serial = serial << 8 | UInt64(byte) }
        guard X509_set_version(pointer, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), serial >> 1 | 1) == 1,
            X509_gmtime_adj(X509_getm_notBefore(pointer), -Self.margin) != nil,
            X509_gmtime_adj(X509_getm_notAfter(pointer), Self.validity) != nil,
            X509_set_pubkey(pointer, key.pointer) == 1,
            setName(of: pointer),
            X509_set_issuer_name(pointer, X509_get_subject_name(issuer?.pointer ?? pointer)) == 1
        else { throw failure() }
        for (identifier, value) in extensions {
            guard add(identifier, value, to: pointer, issuer: issuer?.pointer ?? pointer) else {
                throw failure()
            }
        }
        guard X509_sign(pointer, issuerKey.pointer, nil) > 0 else { throw failure() }
        return certificate
    }

    private func setName(of pointer: OpaquePointer) -> Bool {
        let text = Array(commonName.utf8)
        // 0x1000 is MBSTRING_UTF8. X.509 refuses names of more than 64 characters.
        return X509_NAME_add_entry_by_txt(
            X509_get_subject_name(pointer), "CN", 0x1000, text, Int32(clamping: text.count), -1, 0) == 1
    }

    private var extensions: [(Int32, String)] {
        guard isAuthority else {
            return [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_authority_key_identifier, "keyid"),
            ]
        }
        return [
            (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign"),
            (NID_subject_key_identifier, "hash"),
        ]
    }

    private func add(
        _ identifier: Int32, _ value: String, to pointer: OpaquePointer, issuer: OpaquePointer
    ) -> Bool {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
        guard let addition = X509V3_EXT_conf_nid(nil, &context, identifier, value) else { return false }
        defer { X509_EXTENSION_free(addition) }
        return X509_add_ext(pointer, addition, -1) == 1
    }

    private func failure() -> NetworkError {
        NetworkError(.configuration, "No certificate could be made: \(takeOpenSSLReason()).")
    }
}
