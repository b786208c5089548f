/// A version of the app: dotted numbers, compared one by one, so 6.4.4.2 < 6.4.5 < 6.4.5.1.
public struct AppVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    private let numbers: [UInt32]
    private static let longest = 63

    /// Returns nil for other texts and for more than 63 bytes.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longest else { return nil }
        var numbers: [UInt32] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt32(part) else {
                return nil
            }
            numbers.append(number)
        }
        self.numbers = numbers
    }

    public var description: String { numbers.map(String.init).joined(separator: ".") }

    public static func < (left: AppVersion, right: AppVersion) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }
}

/// The supported versions of the app. The phone has its own range, and never connects if they do not overlap.
public struct AppVersionRange: Hashable, Sendable {
    public let minimum: AppVersion
    public let maximum: AppVersion

    /// Returns nil if the first is later.
    public init?(_ minimum: AppVersion, _ maximum: AppVersion) {
        guard minimum <= maximum else { return nil }
        self.minimum = minimum
        self.maximum = maximum
    }

    public func contains(_ version: AppVersion) -> Bool { (minimum...maximum).contains(version) }
}
