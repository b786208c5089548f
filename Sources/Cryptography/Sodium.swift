import CSodium

/// libsodium, initialised once: it then picks the fastest code for this processor.
enum Sodium {
    static let isReady: Bool = sodium_init() >= 0

    /// Every door into libsodium passes here first. It can only fail where the system has no randomness.
    static func prepare() {
        precondition(isReady, "libsodium could not be initialised")
    }
}

/// Compares in a time that depends on the lengths only, for tags and passwords.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && (left.isEmpty || sodium_memcmp(left, right, left.count) == 0)
}
