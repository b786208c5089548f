/// How long transfers go on.
enum TransferTimes {
    /// An upload that could not be finished in this time is given up, as the SimpleX agent does.
    static let uploadTimeout = Duration.seconds(24 * 3600)
}
