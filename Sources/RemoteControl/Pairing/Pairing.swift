import Base
import Cryptography
import Network

/// What this side keeps for one phone: all of it is secret.
public struct Pairing: Sendable {
    /// A phone that was here before.
    public struct Phone: Hashable, Sendable {
        /// SHA-256 of its certificate authority: 32 bytes.
        public var authority: [UInt8]
        /// Its key of the last session, 44 bytes: with it an announcement is written that only it can read.
        public var agreementKey: [UInt8]
        public var deviceName: String

        public init(authority: [UInt8], agreementKey: [UInt8], deviceName: String) {
            self.authority = authority
            self.agreementKey = agreementKey
            self.deviceName = deviceName
        }
    }

    public let authority: CertificateAuthority
    public let identity: SigningKey
    /// nil before the first session.
    public var phone: Phone?

    public init(authority: CertificateAuthority, identity: SigningKey, phone: Phone? = nil) {
        self.authority = authority
        self.identity = identity
        self.phone = phone
    }

    /// Keys for a new phone: each has its own.
    /// - Throws: `.configuration` when OpenSSL refuses.
    public static func make() throws(NetworkError) -> Pairing {
        Pairing(authority: try .make(), identity: .generate())
    }
}
