import Base
import COpenSSL

/// OpenSSL's settings for connections of one kind.
final class TLSContext: @unchecked Sendable {
    // Safe: an SSL_CTX is immutable after init, and creating connections from it is thread-safe.
    let pointer: OpaquePointer
    /// The protocols in wire form for the selection callback, which gets this object.
    private let protocols: [UInt8]
    /// The required client certificates, for the callback.
    private let client: ClientIdentity?

    private init(
        method: OpaquePointer?, protocols: [String], client: ClientIdentity? = nil
    ) throws(NetworkError) {
        guard let pointer = SSL_CTX_new(method) else { throw TLSContext.failure() }
        self.pointer = pointer
        self.client = client
        self.protocols = protocols.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
        guard chatfs_ssl_ctx_set_min_proto_version(pointer, TLS1_3_VERSION) == 1,
            chatfs_ssl_ctx_set_max_proto_version(pointer, TLS1_3_VERSION) == 1,
            SSL_CTX_set_ciphersuites(pointer, "TLS_CHACHA20_POLY1305_SHA256") == 1,
            chatfs_ssl_ctx_set1_groups_list(pointer, "X25519:X448") == 1,
            chatfs_ssl_ctx_set1_sigalgs_list(pointer, "ed25519:ed448") == 1
        else { throw TLSContext.failure() }
        // The channel binding requires a full handshake, so sessions are never resumed.
        _ = chatfs_ssl_ctx_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        chatfs_ssl_ctx_forbid_resumption(pointer)
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        _ = chatfs_ssl_ctx_set_mode(pointer, Int(mode))
    }

    deinit { SSL_CTX_free(pointer) }

    private static let clients = Lock<[[String]: TLSContext]>([:])

    /// Returns the context of all clients with the same protocols, because making one takes a millisecond.
    static func shared(client settings: TLSClientSettings) throws(NetworkError) -> TLSContext {
        let protocols = settings.applicationProtocols
        if let known = clients.withLock({ $0[protocols] }) { return known }
        let new = try TLSContext(client: settings)
        clients.withLock { $0[protocols] = new }
        return new
    }

    convenience init(client settings: TLSClientSettings) throws(NetworkError) {
        try self.init(method: TLS_client_method(), protocols: settings.applicationProtocols)
        // `IdentityCheck` decides about the peer after the handshake, before any byte is sent. OpenSSL itself verifies
        // that the peer has the leaf's key.
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(pointer, { _, _ in 1 }, nil)
        guard protocols.isEmpty || SSL_CTX_set_alpn_protos(pointer, protocols, UInt32(protocols.count)) == 0
        else { throw TLSContext.failure() }
    }

    convenience init(server settings: TLSServerSettings) throws(NetworkError) {
        try self.init(
            method: TLS_server_method(), protocols: settings.applicationProtocols, client: settings.client)
        let chain = settings.identity.certificates.compactMap { Certificate(der: $0) }
        guard let leaf = chain.first, SSL_CTX_use_certificate(pointer, leaf.pointer) == 1,
            SSL_CTX_use_PrivateKey(pointer, settings.identity.key.pointer) == 1
        else { throw TLSContext.failure() }
        for certificate in chain.dropFirst() {
            guard chatfs_ssl_ctx_add1_chain_cert(pointer, certificate.pointer) == 1 else {
                throw TLSContext.failure()
            }
        }
        SSL_CTX_set_num_tickets(pointer, 0)
        let context = Unmanaged.passUnretained(self).toOpaque()
        if !protocols.isEmpty { SSL_CTX_set_alpn_select_cb(pointer, TLSContext.select, context) }
        guard client != nil else { return }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        SSL_CTX_set_cert_verify_callback(pointer, TLSContext.checkClient, context)
    }

    /// A refusal ends the handshake with the alert "unknown_ca". The context outlives its connections.
    private static let checkClient: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = {
        store, context in
        guard let store, let context else { return 0 }
        let stack = X509_STORE_CTX_get0_untrusted(store)
        let chain = (0..<max(0, chatfs_x509_stack_count(stack))).compactMap { index in
            chatfs_x509_stack_value(stack, index).map { pointer in encoded { i2d_X509(pointer, $0) } }
        }
        let client = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().client
        guard client?.admits(chain) == true else {
            X509_STORE_CTX_set_error(store, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
            return 0
        }
        return 1
    }

    /// Selects a protocol of the client's offer in the server's order. The context outlives its connections.
    private static let select:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
        ) -> Int32 = { _, chosen, chosenLength, offered, offeredLength, context in
            guard let context, let chosen, let chosenLength, let offered else {
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }
            let protocols = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().protocols
            return protocols.withUnsafeBufferPointer { ours in
                var selected: UnsafeMutablePointer<UInt8>?
                let result = SSL_select_next_proto(
                    &selected, chosenLength, ours.baseAddress, UInt32(ours.count), offered, offeredLength)
                guard result == OPENSSL_NPN_NEGOTIATED, let selected else {
                    return SSL_TLSEXT_ERR_ALERT_FATAL
                }
                // Points into `protocols`, which lives as long as the context.
                chosen.pointee = UnsafePointer(selected)
                return SSL_TLSEXT_ERR_OK
            }
        }

    private static func failure() -> NetworkError {
        NetworkError(.configuration, "TLS could not be set up: \(takeOpenSSLReason()).")
    }
}
