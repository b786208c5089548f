import Base
import COpenSSL
import Glibc
import Posix
import Testing

@testable import Network

@Suite struct IdentityTests {
    @Test func aRelayWithAnotherIdentityIsRefused() async throws {
        let place = try Place.open()
        let code = await failure { try await place.connect(fingerprint: [UInt8](repeating: 1, count: 32)) }
        #expect(code == .identity)
        await place.server.stop()
    }

    @Test func anOlderVersionOfTLSIsRefused() async throws {
        let place = try Place.open()
        let socket = try RawPeer.connectedSocket(to: place.server.endpoint)
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        try #require(chatfs_ssl_ctx_set_max_proto_version(context, TLS1_2_VERSION) == 1)
        let ssl = SSL_new(context)
        defer { SSL_free(ssl) }
        SSL_set_fd(ssl, socket.descriptor)
        SSL_set_connect_state(ssl)
        let deadline = Deadline(after: .seconds(20))
        ERR_clear_error()
        var result = SSL_do_handshake(ssl)
        while result != 1, SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ, !deadline.hasPassed {
            _ = try socket.wait(for: Int16(POLLIN), until: deadline, stop: WakeUp())
            result = SSL_do_handshake(ssl)
        }
        #expect(result != 1)
        // The reason is the lower 23 bits.
        #expect(ERR_get_error() & 0x7f_ffff == UInt(SSL_R_TLSV1_ALERT_PROTOCOL_VERSION))
        await place.server.stop()
    }

    @Test func clientsOfOneProtocolShareTheirContext() throws {
        func context(_ fingerprint: UInt8, _ protocols: [String]) throws -> TLSContext {
            try TLSContext.shared(
                client: TLSClientSettings(
                    identityFingerprint: [fingerprint], applicationProtocols: protocols))
        }
        #expect(try context(1, ["a"]) === context(2, ["a"]))
        #expect(try context(1, ["a"]) !== context(1, ["b"]))
    }

    /// A chain of `count` certificates, leaf first, each signed by the next.
    private func chain(_ count: Int, _ kind: CertificateKind = .ed25519) throws -> [Certificate] {
        var issuer: (certificate: Certificate, key: PrivateKey)?
        var chain: [Certificate] = []
        for number in (0..<count).reversed() {
            let key = try PrivateKey.generate(kind)
            let request = CertificateRequest(commonName: "\(number)", key: key, isAuthority: number > 0)
            let certificate = try request.signed(by: issuer?.certificate, key: issuer?.key ?? key)
            chain.insert(certificate, at: 0)
            issuer = (certificate, key)
        }
        return chain
    }

    private func isAccepted(_ chain: [Certificate], _ fingerprint: [UInt8]) -> Bool {
        (try? IdentityCheck.verify(chain.map(\.der), fingerprint: fingerprint)) != nil
    }

    @Test(arguments: 2...4, CertificateKind.allCases)
    func theSecondCertificateIsTheIdentityInEveryForm(_ count: Int, _ kind: CertificateKind) throws {
        let chain = try chain(count, kind)
        for (number, certificate) in chain.enumerated() {
            #expect(isAccepted(chain, certificate.fingerprint) == (number == 1))
        }
    }

    @Test func chainsOfOneOrFiveAreRefused() throws {
        let one = try chain(1)
        #expect(!isAccepted(one, one[0].fingerprint))
        let five = try chain(5)
        #expect(!isAccepted(five, five[1].fingerprint))
        #expect(!isAccepted([], [UInt8](repeating: 0, count: 32)))
    }

    @Test func aLeafThatTheIdentityDidNotSignIsRefused() throws {
        let honest = try chain(2)
        let stranger = try chain(3)
        #expect(!isAccepted([stranger[0], honest[1]], honest[1].fingerprint))
        // Another server's identity behind an own authority.
        #expect(!isAccepted([stranger[0], honest[1], stranger[1]], honest[1].fingerprint))
        #expect(!isAccepted([stranger[1], honest[1], stranger[2]], honest[1].fingerprint))
    }

    @Test func damagedCertificatesAreRefused() throws {
        let chain = try chain(2)
        let fingerprint = chain[1].fingerprint
        var generator = SplitMix(state: 1)
        for _ in 0..<300 {
            var leaf = chain[0].der
            let position = Int(generator.next() % UInt64(leaf.count))
            leaf[position] ^= UInt8(truncatingIfNeeded: generator.next() | 1)
            let mended = [leaf, chain[1].der]
            #expect((try? IdentityCheck.verify(mended, fingerprint: fingerprint)) == nil)
        }
        #expect(Certificate(der: chain[0].der + [0]) == nil)
        #expect(Certificate(der: []) == nil)
    }

    @Test func anEllipticCurveCertificateIsRefused() async throws {
        let foreign = try ForeignCertificate.make()
        #expect(
            (try? IdentityCheck.verify([foreign.der, foreign.der], fingerprint: foreign.fingerprint)) == nil)
        let context = foreign.context
        let server = try RawServer.accepting { socket in
            let ssl = SSL_new(context.pointer)
            defer { SSL_free(ssl) }
            SSL_set_fd(ssl, socket.descriptor)
            SSL_set_accept_state(ssl)
            let deadline = Deadline(after: .seconds(10))
            while !deadline.hasPassed {
                let result = SSL_do_handshake(ssl)
                if result == 1 || SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ { return }
                _ = try socket.wait(for: 1, until: deadline, stop: .init())
            }
        }
        let code = await failure {
            try await HTTP2Client.connect(
                to: server.endpoint, tls: TLSClientSettings(identityFingerprint: foreign.fingerprint),
                timeout: .seconds(20))
        }
        #expect(code == .handshake)
    }

    @Test func identitiesSurviveARoundTrip() throws {
        for kind in CertificateKind.allCases {
            let made = try NewServerIdentity.make(kind, hostName: "relay.example")
            let read = try ServerIdentity(
                authorityCertificate: made.authorityCertificate, leafCertificate: made.leafCertificate,
                leafKey: made.leafKey)
            #expect(read.fingerprint == made.identity.fingerprint)
            #expect(read.certificates == made.identity.certificates)
            #expect(read.kind == kind)
            // The key of another leaf.
            let other = try NewServerIdentity.make(kind, hostName: "relay.example")
            #expect(
                (try? ServerIdentity(
                    authorityCertificate: made.authorityCertificate, leafCertificate: made.leafCertificate,
                    leafKey: other.leafKey)) == nil)
            #expect(
                (try? ServerIdentity(
                    authorityCertificate: other.authorityCertificate, leafCertificate: made.leafCertificate,
                    leafKey: made.leafKey)) == nil)
            #expect(
                (try? ServerIdentity(authorityCertificate: [], leafCertificate: [1], leafKey: [2])) == nil)
        }
    }
}

/// A P-256 certificate of an ordinary web server, and TLS settings that offer it.
struct ForeignCertificate {
    let der: [UInt8]
    let fingerprint: [UInt8]
    let context: Context

    final class Context: @unchecked Sendable {
        // Safe: immutable after `make`.
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
        deinit { SSL_CTX_free(pointer) }
    }

    static func make() throws -> ForeignCertificate {
        let generator = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(generator) }
        var key: OpaquePointer?
        try #require(EVP_PKEY_keygen_init(generator) == 1)
        try #require(EVP_PKEY_CTX_set_group_name(generator, "P-256") == 1)
        try #require(EVP_PKEY_keygen(generator, &key) == 1)
        defer { EVP_PKEY_free(key) }
        let certificate = Certificate(adopting: try #require(X509_new()))
        X509_set_version(certificate.pointer, 2)
        X509_gmtime_adj(X509_getm_notBefore(certificate.pointer), 0)
        X509_gmtime_adj(X509_getm_notAfter(certificate.pointer), 86_400)
        X509_set_pubkey(certificate.pointer, key)
        try #require(X509_sign(certificate.pointer, key, EVP_sha256()) > 0)
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        try #require(SSL_CTX_use_certificate(context, certificate.pointer) == 1)
        try #require(SSL_CTX_use_PrivateKey(context, key) == 1)
        return ForeignCertificate(
            der: certificate.der, fingerprint: certificate.fingerprint, context: Context(context))
    }
}

/// A small generator with a fixed seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
