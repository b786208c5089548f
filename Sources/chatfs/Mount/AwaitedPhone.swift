import Base
import ChatCore
import Notifications

/// Tells the user of a phone's mount that a program waits for a file that only the phone has: once, until the phone was
/// connected again. Any thread.
final class AwaitedPhone: Sendable {
    private let isTold = Lock(false)

    static let request = RefusedRequest(
        "A file is only on it. Open SimpleX and choose “Use from desktop”.", title: "Your phone is needed")

    /// The phone is connected.
    func noteConnection() { isTold.withLock { $0 = false } }

    /// Returns the event of a file's problem, or none.
    func events(of problem: FileProblem?) -> [NotificationEvent] {
        guard problem?.kind == .unreachable else { return [] }
        let isFirst = isTold.withLock { isTold in
            defer { isTold = true }
            return !isTold
        }
        return isFirst ? [.refused(Self.request)] : []
    }
}
