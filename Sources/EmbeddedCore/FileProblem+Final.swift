import ChatCore

extension FileProblem {
    /// Whether the file can never be had, whatever is tried.
    var isFinal: Bool {
        switch kind {
        case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge: true
        case .notApproved, .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .other: false
        }
    }
}
