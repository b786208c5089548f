/// What services of the system say that concerns a mount.
public enum SystemNotice: Hashable, Sendable {
    /// Whether the connection to the network is paid for by what goes over it (NetworkManager).
    case metered(Bool)
    /// The machine is about to sleep, and waits for `SystemWatch.readyToSleep`, five seconds at most (logind's
    /// `InhibitDelayMaxSec`).
    case sleeping
    /// It has slept.
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
