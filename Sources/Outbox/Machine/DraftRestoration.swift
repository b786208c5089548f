import Base

/// What a new process makes of a row that an earlier one left: the event "the process died", for one draft.
enum DraftRestoration {
    case kept(DraftMachine)
    /// It was being written: its row is to say that it is recovered now.
    case recovered(DraftMachine, Journal.Entry)
    /// Nothing is left of it.
    case dropped

    /// - Parameters:
    ///   - moment: of the new process.
    ///   - spooled: how many bytes its spool file has, durable from then on; 0 when there surely is none. Asked
    ///     only for what cannot be trusted.
    init(of entry: Journal.Entry, at moment: Moment, spooled: () -> Result<UInt64, OutboxError>) {
        var record = entry.record
        switch entry.state {
        case .queued, .sent, .failed, .unsure, .withdrawn:
            self = .kept(DraftMachine(restoring: record, entry.state))
        case .closed where record.isDurable || record.boot == moment.boot:
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
                // Its row stays as it is: the next start looks again.
                record.problem =
                    "This file was still being written when ChatFS stopped, and cannot be read at present: "
                    + error.sentence
                self = .kept(DraftMachine(restoring: record, .recovered))
            }
        }
    }
}
