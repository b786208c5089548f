import ChatCore
import Store

extension ChatReference: SQLBindable {
    public var sqlValue: SQLValue { .text(description) }
}

/// The columns of a file's status. `Row.value` reports any other word as damage.
struct StoredFileStatus {
    enum Word: String, SQLBindable, CaseIterable {
        case sndStored, sndTransfer, sndComplete, sndCancelled, sndError, sndWarning
        case rcvInvitation, rcvAccepted, rcvTransfer, rcvAborted, rcvComplete, rcvCancelled, rcvError,
            rcvWarning
    }

    var word: Word
    /// Transferred bytes of the encrypted file, and their total.
    var part: UInt64 = 0
    var total: UInt64 = 0
    var problem: FileProblem?

    init(_ status: FileStatus) {
        switch status {
        case .sndStored: word = .sndStored
        case .sndTransfer(let sent, let total): (word, part, self.total) = (.sndTransfer, sent, total)
        case .sndComplete: word = .sndComplete
        case .sndCancelled: word = .sndCancelled
        case .sndError(let problem): (word, self.problem) = (.sndError, problem)
        case .sndWarning(let problem): (word, self.problem) = (.sndWarning, problem)
        case .rcvInvitation: word = .rcvInvitation
        case .rcvAccepted: word = .rcvAccepted
        case .rcvTransfer(let received, let total): (word, part, self.total) = (.rcvTransfer, received, total)
        case .rcvAborted(let problem): (word, self.problem) = (.rcvAborted, problem)
        case .rcvComplete: word = .rcvComplete
        case .rcvCancelled: word = .rcvCancelled
        case .rcvError(let problem): (word, self.problem) = (.rcvError, problem)
        case .rcvWarning(let problem): (word, self.problem) = (.rcvWarning, problem)
        }
    }

    /// Reads the columns `status`, `part`, `total`, `problem` and `sentence`.
    /// - Throws: `StoreError.damaged`.
    init(_ row: borrowing Row) throws {
        word = try row.value("status")
        part = row.unsigned("part")
        total = row.unsigned("total")
        problem = try row.valueOrNil("problem", as: FileProblem.Kind.self).map { kind in
            FileProblem(kind, row.text("sentence"))
        }
    }

    func status(isDescribed: Bool) -> FileStatus {
        let problem = problem ?? FileProblem(.other, "")
        return switch word {
        case .sndStored: .sndStored
        case .sndTransfer: .sndTransfer(sent: part, total: total)
        case .sndComplete: .sndComplete
        case .sndCancelled: .sndCancelled
        case .sndError: .sndError(problem)
        case .sndWarning: .sndWarning(problem)
        case .rcvInvitation: .rcvInvitation(described: isDescribed)
        case .rcvAccepted: .rcvAccepted
        case .rcvTransfer: .rcvTransfer(received: part, total: total)
        case .rcvAborted: .rcvAborted(problem.sentence.isEmpty ? .relaysNotApproved : problem)
        case .rcvComplete: .rcvComplete
        case .rcvCancelled: .rcvCancelled
        case .rcvError: .rcvError(problem)
        case .rcvWarning: .rcvWarning(problem)
        }
    }
}
