import ChatCore

extension FileStatus {
    /// Offered, with the description at hand: it can be claimed.
    var isDescribed: Bool { self == .rcvInvitation(described: true) }

    /// Whether bytes have come since.
    func hasMore(than before: FileStatus) -> Bool {
        guard case .rcvTransfer(let received, _) = self else { return false }
        if case .rcvTransfer(let known, _) = before { return received > known }
        return received > 0
    }

    /// Why the bytes will not come by themselves.
    var problem: FileProblem? {
        switch self {
        case .rcvError(let problem), .rcvWarning(let problem), .rcvAborted(let problem): problem
        case .rcvCancelled:
            FileProblem(
                .cancelledBySender, "The file was cancelled, by its sender or in another program of yours.")
        default: nil
        }
    }
}
