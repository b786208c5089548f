import Base
import ChatCore
import Notifications
import OfficialCore

/// Tells the user of a phone's mount that a program waits for a file that only the phone has, or that the phone shows
/// another profile: each once, until the phone was connected again. Any thread.
final class AwaitedPhone: Sendable {
    private let told = Lock<RefusedRequest?>(nil)
    /// The request for a phone with another profile.
    let other: RefusedRequest

    static let request = RefusedRequest(
        "A file is only on the phone. Open SimpleX on it, and choose “Use from desktop”.",
        title: "Your phone is needed")

    /// - Parameter profile: The profile of the mount.
    init(of profile: Profile) {
        other = RefusedRequest(
            "Choose the profile of this mount in SimpleX on the phone, then “Use from desktop” again.",
            subject: profile.displayName, title: "Your phone shows another profile")
    }

    /// The phone is connected.
    func noteConnection() { told.withLock { $0 = nil } }

    /// Returns the event of a phone that is connected and not used, or none.
    func events(ofAbsence cause: (any Error)?) -> [NotificationEvent] {
        guard Self.isOtherProfile(cause) else { return [] }
        noteConnection()
        return tell(other)
    }

    /// Returns the event of a file's problem, or none.
    func events(of problem: FileProblem?) -> [NotificationEvent] {
        guard let problem, problem.kind == .unreachable else { return [] }
        return tell(Self.isOtherProfile(problem.cause) ? other : Self.request)
    }

    private static func isOtherProfile(_ cause: (any Error)?) -> Bool {
        (cause as? OfficialCoreError)?.code == .otherDatabase
    }

    private func tell(_ request: RefusedRequest) -> [NotificationEvent] {
        let isNew = told.withLock { told in
            defer { told = request }
            return told != request
        }
        return isNew ? [.refused(request)] : []
    }
}
