import Base
import Cryptography

/// The supported versions of XFTP: 1 (first), 2 (signed commands), 3 (ERR BLOCKED).
public enum XFTPVersion {
    public static let supported: ClosedRange<UInt16> = 1...3
}

extension ServerHello {
    /// The field after the signed key without a proof for browsers.
    public static let noProof: [UInt8] = [0]
}

/// The client's second request: the chosen version and the expected identity of the relay.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// The fingerprint of the relay's identity certificate, 32 bytes.
    public var identity: [UInt8]

    public init(version: UInt16, identity: [UInt8]) {
        self.version = version
        self.identity = identity
    }

    public func block() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        bytes.append(byteString: identity)
        return Block.pad(bytes)
    }

    /// Decodes an unpadded block. Returns nil if it is invalid. Ignores later fields.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let version = reader.integer(UInt16.self), let identity = reader.byteString(),
            identity.count == 32
        else { return nil }
        self.init(version: version, identity: identity)
    }
}
