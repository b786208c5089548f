/// How long transfers go on.
enum TransferTimes {
    /// Relays keep chunks that long (default of the official relay).
    static let relayExpiry = Duration.seconds(48 * 3600)
    /// An upload that could not be finished in this time is given up, as the SimpleX agent does.
    static let uploadTimeout = Duration.seconds(24 * 3600)
}
