/// Policy for relays that are neither configured nor approved. No policy permits this machine's own network.
public enum RelayApprovalPolicy: String, Sendable, CaseIterable {
    /// Receive only after the user's approval.
    case ask
    /// Receive.
    case always
    /// Do not receive, even if a single file is approved. Approving the relay helps.
    case never
}
