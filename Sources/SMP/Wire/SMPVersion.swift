import Base

/// The versions of the protocols that this program speaks.
public enum SMPVersion {
    /// With servers: from 15 on there are short links; at 16 the field for services came, at 17 that for notifications.
    public static let servers: ClosedRange<UInt16> = 15...17
    static let withServices: UInt16 = 16
    static let withNotifications: UInt16 = 17
    /// Between the two sides of a queue.
    public static let queues: ClosedRange<UInt16> = 1...4
    /// Between the two sides of a connection.
    public static let agents: ClosedRange<UInt16> = 2...7

    /// The highest version that both have, or nil.
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

    /// A SubjectPublicKeyInfo of an X25519 key.
    mutating func agreementKey() -> [UInt8]? {
        byteString().flatMap { PublicKeys.isAgreement($0) ? $0 : nil }
    }

    /// A SubjectPublicKeyInfo of a key that authorises commands.
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
    /// `2-7`, or `7` where both ends are the same.
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
