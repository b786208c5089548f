/// Time limits of transfers.
enum TransferTimes {
    /// An unfinished upload is given up after this time, as in the SimpleX agent.
    static let uploadTimeout = Duration.seconds(24 * 3600)
}
