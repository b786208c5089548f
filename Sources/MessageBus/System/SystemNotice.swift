/// A notice of a system service.
public enum SystemNotice: Hashable, Sendable {
    /// Whether the network connection is metered (NetworkManager).
    case metered(Bool)
    /// The machine is about to sleep. It waits for `SystemWatch.readyToSleep`, at most five seconds (logind's
    /// `InhibitDelayMaxSec`).
    case sleeping
    /// The machine woke up.
    case awake
    /// The session of the user was locked (logind's `LockedHint`, or its signal `Lock`).
    case sessionLocked

    var encoded: [UInt8] {
        switch self {
        case .metered(let isMetered): [0, isMetered ? 1 : 0]
        case .sleeping: [1]
        case .awake: [2]
        case .sessionLocked: [3]
        }
    }

    init?(encoded: [UInt8]) {
        switch encoded {
        case [0, 0]: self = .metered(false)
        case [0, 1]: self = .metered(true)
        case [1]: self = .sleeping
        case [2]: self = .awake
        case [3]: self = .sessionLocked
        default: return nil
        }
    }
}
