import ChatCore

extension FileStatus {
    /// True if the file is offered with its description and can be claimed.
    var isDescribed: Bool { self == .rcvInvitation(described: true) }

    /// Returns true if bytes arrived since `before`.
    func hasMore(than before: FileStatus) -> Bool {
        guard case .rcvTransfer(let received, _) = self else { return false }
        if case .rcvTransfer(let known, _) = before { return received > known }
        return received > 0
    }

    /// The problem that prevents receiving.
    var problem: FileProblem? {
        switch self {
        case .rcvError(let problem), .rcvWarning(let problem), .rcvAborted(let problem): problem
        case .rcvCancelled:
            FileProblem(
                .cancelledBySender, "The sender, or another program of yours, cancelled the file.")
        default: nil
        }
    }
}
