/// A version of the app: dotted numbers, compared one after the other, so 6.4.4.2 < 6.4.5 < 6.4.5.1.
public struct AppVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    private let numbers: [UInt32]
    private static let longest = 63

    /// nil for anything but dotted decimal numbers, and for more than 63 bytes.
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

/// The versions of the app whose commands and answers this side can use. The phone has a range of its own, and where
/// the two do not overlap it says so on its screen and never connects.
public struct AppVersionRange: Hashable, Sendable {
    public let minimum: AppVersion
    public let maximum: AppVersion

    /// nil where the first is the later one.
    public init?(_ minimum: AppVersion, _ maximum: AppVersion) {
        guard minimum <= maximum else { return nil }
        self.minimum = minimum
        self.maximum = maximum
    }

    public func contains(_ version: AppVersion) -> Bool { (minimum...maximum).contains(version) }
}
