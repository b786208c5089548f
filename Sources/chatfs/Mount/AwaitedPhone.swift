import Base
import ChatCore
import Notifications
import Synchronization

/// Tells the user of a phone's mount that a program waits for a file that only the phone has: once, until the phone was
/// connected again. Any thread.
final class AwaitedPhone: Sendable {
    private let isTold = Atomic(false)

    static let request = RefusedRequest(
        "A file is only on it. Open SimpleX and choose “Use from desktop”.", title: "Your phone is needed")

    /// The phone is connected.
    func noteConnection() { isTold.store(false, ordering: .releasing) }

    /// Returns the event of a file's problem, or none.
    func events(of problem: FileProblem?) -> [NotificationEvent] {
        guard problem?.kind == .unreachable else { return [] }
        let isFirst = !isTold.exchange(true, ordering: .acquiringAndReleasing)
        return isFirst ? [.refused(Self.request)] : []
    }
}
