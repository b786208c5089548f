import Base

/// The supported versions of the protocols.
public enum SMPVersion {
    /// Client and server. Version 15 has short links, 16 adds a field for services, 17 one for notifications.
    public static let servers: ClosedRange<UInt16> = 15...17
    static let withServices: UInt16 = 16
    static let withNotifications: UInt16 = 17
    /// Between the two sides of a queue.
    public static let queues: ClosedRange<UInt16> = 1...4
    /// Between the two sides of a connection.
    public static let agents: ClosedRange<UInt16> = 2...7

    /// Returns the highest common version, or nil.
    public static func agreed(_ left: ClosedRange<UInt16>, _ right: ClosedRange<UInt16>) -> UInt16? {
        left.overlaps(right) ? min(left.upperBound, right.upperBound) : nil
    }
}

extension ByteReader {
    mutating func versions() -> ClosedRange<UInt16>? {
        guard let lowest = integer(UInt16.self), let highest = integer(UInt16.self), lowest <= highest else {
            return nil
        }
        return lowest...highest
    }

    /// Checks for a SubjectPublicKeyInfo of an X25519 key.
    mutating func agreementKey() -> [UInt8]? {
        byteString().flatMap { PublicKeys.isAgreement($0) ? $0 : nil }
    }

    /// Checks for a SubjectPublicKeyInfo of a key that authorises commands.
    public mutating func authorizationKey() -> [UInt8]? {
        byteString().flatMap { PublicKeys.isAuthorization($0) ? $0 : nil }
    }
}

extension [UInt8] {
    mutating func append(_ versions: ClosedRange<UInt16>) {
        append(bigEndian: versions.lowerBound)
        append(bigEndian: versions.upperBound)
    }
}

extension ClosedRange<UInt16> {
    /// `2-7`, or `7` for a single version.
    var text: String { lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)" }

    init?(text: some StringProtocol) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0) }
        guard ends.count <= 2, let lowest = ends[0], let highest = ends[ends.count - 1], lowest <= highest
        else {
            return nil
        }
        self = lowest...highest
    }

    private static func number(_ text: some StringProtocol) -> UInt16? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(text) : nil
    }
}
