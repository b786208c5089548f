import ChatCore
import FileSystem
import Keeping

// Conversions between Keeping and other modules.

extension MountStatus.Keeping {
    init(_ counts: KeepCounts) {
        let obstacles = counts.obstacles.map { ($0.key.rawValue, $0.value) }
        self.init(
            expiring: counts.expiring, waiting: counts.waiting,
            obstacles: Dictionary(uniqueKeysWithValues: obstacles))
    }
}

extension KeepObstacle {
    init(_ problem: FileProblem) {
        switch problem.kind {
        case .notApproved: self = .approval
        case .noSpace: self = .disk
        case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .unreachable, .timedOut,
            .relayFull,
            .tooLarge, .noRelay, .other:
            self = .failure
        }
    }
}

extension FileProblem {
    init(_ error: ChatError) {
        if case .file(let kind) = error.code {
            self.init(kind, error.sentence)
        } else {
            self.init(.other, error.sentence)
        }
    }
}

extension KeepObstacle {
    /// The awaited condition, for display.
    var words: String {
        switch self {
        case .metered: "an unmetered connection"
        case .disk: "space on the disk"
        case .approval: "approval of their relays"
        case .upload: "the end of their upload"
        case .failure: "another try"
        }
    }
}
