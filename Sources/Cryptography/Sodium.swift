import CSodium

/// Initializes libsodium once, which selects the fastest code for the processor.
enum Sodium {
    static let isReady: Bool = sodium_init() >= 0

    /// Must precede all libsodium calls. Fails only if the system has no random source.
    static func prepare() {
        precondition(isReady, "libsodium could not be initialized")
    }
}

/// Compares in a time that depends only on the lengths. For tags and passwords.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && (left.isEmpty || sodium_memcmp(left, right, left.count) == 0)
}
