import Base
import ChatCore
import Glibc

/// What removing a received or sent entry does (`--delete`).
public enum DeletionPolicy: String, CaseIterable, Sendable {
    /// EPERM.
    case refused = "never"
    /// The message is deleted for this user only.
    case own = "self"
    /// The message is deleted for everyone: own messages of the last 24 hours.
    case everyone
}

/// Holds back a runaway `rm -r`: messages that are gone for everyone do not come back.
struct DeletionBudget {
    static let maxDeletions = 20
    static let period = Duration.seconds(60)
    private var recent: [ContinuousClock.Instant] = []

    /// Counts one deletion, or says that there were too many in the last minute.
    mutating func take(at now: ContinuousClock.Instant = .now) -> Bool {
        recent.removeAll { $0.duration(to: now) >= Self.period }
        guard recent.count < Self.maxDeletions else { return false }
        recent.append(now)
        return true
    }
}

/// Says how items may be deleted. Any thread, from memory.
final class DeletionRule: Sendable {
    private let policy: DeletionPolicy
    private let clock: any WallClock
    private let budget = Lock(DeletionBudget())

    init(_ policy: DeletionPolicy, clock: any WallClock) {
        self.policy = policy
        self.clock = clock
    }

    /// How an item may be deleted, or why not. One that may be deleted for everyone counts as deleted.
    func mode(of item: ChatItem) -> Result<DeletionMode, FileSystemError> {
        // Nobody else has it as a message: a link is withdrawn, or only forgotten.
        if item.chat == .links { return .success(.internal) }
        switch policy {
        case .refused:
            return refusal(
                "What was sent or received stays in its chat. To free the space, use Free Up Space in the menu of the file "
                    + "manager.")
        case .own: return .success(.internal)
        case .everyone:
            guard item.direction == .sent,
                clock.now() < item.time.advanced(by: FilePolicy.deletableForEveryone)
            else { return refusal("Only own messages of the last 24 hours can be deleted for everyone.") }
            guard budget.withLock({ $0.take() }) else {
                return refusal("More than \(DeletionBudget.maxDeletions) deletions for everyone in a minute.")
            }
            return .success(.broadcast)
        }
    }

    private func refusal(_ sentence: String) -> Result<DeletionMode, FileSystemError> {
        .failure(FileSystemError(EPERM, sentence))
    }
}
