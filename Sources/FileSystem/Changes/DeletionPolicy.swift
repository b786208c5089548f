import Base
import ChatCore
import Glibc

/// The effect of removing a received or sent entry (`--delete`).
public enum DeletionPolicy: String, CaseIterable, Sendable {
    /// unlink(2) fails with EPERM.
    case refused = "never"
    /// Delete the message for this user only.
    case own = "self"
    /// Delete the message for everyone: own messages of the last 24 hours.
    case everyone
}

/// Limits deletions for everyone, which cannot be undone, against a runaway `rm -r`.
struct DeletionBudget {
    static let maxDeletions = 20
    static let period = Duration.seconds(60)
    private var recent: [ContinuousClock.Instant] = []

    /// Counts one deletion. Returns false if the limit of the last minute is reached.
    mutating func take(at now: ContinuousClock.Instant = .now) -> Bool {
        recent.removeAll { $0.duration(to: now) >= Self.period }
        guard recent.count < Self.maxDeletions else { return false }
        recent.append(now)
        return true
    }
}

/// Decides how items may be deleted. Answers from memory; thread-safe.
final class DeletionRule: Sendable {
    private let policy: @Sendable () -> DeletionPolicy
    private let clock: any WallClock
    private let budget = Lock(DeletionBudget())

    /// - Parameter policy: The present policy.
    init(clock: any WallClock, policy: @escaping @Sendable () -> DeletionPolicy) {
        self.policy = policy
        self.clock = clock
    }

    /// Returns the mode of deletion or the refusal. A permitted deletion for everyone counts against the budget.
    func mode(of item: ChatItem) -> Result<DeletionMode, FileSystemError> {
        // Links have no message at other members.
        if item.chat == .links { return .success(.internal) }
        switch policy() {
        case .refused:
            return refusal(
                permission: .deletion,
                "Sent and received files stay in their chat. To free the space, use Free Up Space in the menu of the file "
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

    private func refusal(
        permission: Permission? = nil, _ sentence: String
    ) -> Result<DeletionMode, FileSystemError> {
        .failure(FileSystemError(EPERM, sentence, permission: permission))
    }
}
