/// What the kernel does for this mount and how often it asked: a part of `status.json`.
public struct KernelSide: Codable, Hashable, Sendable {
    /// Reads of finished files that do not come to this process at all.
    public struct Passthrough: Codable, Hashable, Sendable {
        public var isOn: Bool
        /// Why it is off.
        public var reason: String?

        public init(isOn: Bool, reason: String?) {
            self.isOn = isOn
            self.reason = reason
        }
    }

    public var passthrough: Passthrough
    /// Requests since the mount began, by operation of the FUSE protocol.
    public var operations: [String: UInt64]
    /// Those that failed for another reason than their caller's, by operation and errno.
    public var failures: [String: [String: UInt64]]

    public init(
        passthrough: Passthrough, operations: [String: UInt64], failures: [String: [String: UInt64]]
    ) {
        self.passthrough = passthrough
        self.operations = operations
        self.failures = failures
    }

    /// All of them but those in which the kernel only says what it has forgotten.
    var requests: UInt64 {
        operations.reduce(0) { $0 + ($1.key.hasSuffix("forget") ? 0 : $1.value) }
    }
}
