import Base

/// Restores one draft from a row of an earlier process, as the event "the process died".
enum DraftRestoration {
    case kept(DraftMachine)
    /// It was open; the row must become `recovered`.
    case recovered(DraftMachine, Journal.Entry)
    /// No bytes are left.
    case dropped

    /// - Parameters:
    ///   - moment: The time of the new process.
    ///   - spooled: Returns the durable bytes of the spool file, 0 only if there is none. Called only for untrusted rows.
    init(of entry: Journal.Entry, at moment: Moment, spooled: () -> Result<UInt64, OutboxError>) {
        var record = entry.record
        switch entry.state {
        case .queued, .sent, .failed, .unsure, .withdrawn:
            self = .kept(DraftMachine(restoring: record, entry.state))
        case .closed where record.isTrusted(in: moment.boot):
            self = .kept(DraftMachine(restoring: record, entry.state))
        case .recovered:
            if case .success(0) = spooled() {
                self = .dropped
            } else {
                self = .kept(DraftMachine(restoring: record, entry.state))
            }
        case .open, .closed:
            record.touched = moment.uptime
            switch spooled() {
            case .success(0): self = .dropped
            case .success(let size):
                record.size = size
                record.problem = "This file was still being written when ChatFS stopped. It was not sent."
                self = .recovered(
                    DraftMachine(restoring: record, .recovered), Journal.Entry(record, .recovered))
            case .failure(let error):
                // The row stays, so the next start checks again.
                record.problem =
                    "This file was still being written when ChatFS stopped, and cannot be read at present: "
                    + error.sentence
                self = .kept(DraftMachine(restoring: record, .recovered))
            }
        }
    }
}
