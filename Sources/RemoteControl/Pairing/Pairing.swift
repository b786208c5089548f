import Base
import Cryptography
import Network

/// The secrets of the pairing with one phone.
public struct Pairing: Sendable {
    /// The phone of an earlier session.
    public struct Phone: Hashable, Sendable {
        /// SHA-256 of its certificate authority: 32 bytes.
        public var authority: [UInt8]
        /// Its key of the last session, 44 bytes, which encrypts an announcement for that phone only.
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
    /// Nil before the first session.
    public var phone: Phone?

    public init(authority: CertificateAuthority, identity: SigningKey, phone: Phone? = nil) {
        self.authority = authority
        self.identity = identity
        self.phone = phone
    }

    /// Creates the keys for a new phone.
    /// - Throws: `.configuration` if OpenSSL refuses.
    public static func make() throws(NetworkError) -> Pairing {
        Pairing(authority: try .make(), identity: .generate())
    }
}
