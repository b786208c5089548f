/// The kernel's features and request counters of this mount, as in `status.json`.
public struct KernelSide: Codable, Hashable, Sendable {
    /// Reads of complete files that the kernel serves without this process.
    public struct Passthrough: Codable, Hashable, Sendable {
        public var isOn: Bool
        /// The reason if it is off.
        public var reason: String?

        public init(isOn: Bool, reason: String?) {
            self.isOn = isOn
            self.reason = reason
        }
    }

    public var passthrough: Passthrough
    /// Number of requests since the mount, by FUSE operation.
    public var operations: [String: UInt64]
    /// Number of failed requests by operation and errno, without those that are the caller's fault.
    public var failures: [String: [String: UInt64]]

    public init(
        passthrough: Passthrough, operations: [String: UInt64], failures: [String: [String: UInt64]]
    ) {
        self.passthrough = passthrough
        self.operations = operations
        self.failures = failures
    }

    /// All requests except `forget` and `batch_forget`.
    var requests: UInt64 {
        operations.reduce(0) { $0 + ($1.key.hasSuffix("forget") ? 0 : $1.value) }
    }
}
