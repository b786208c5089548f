/// Decides how long a process holds a data key for commands, and which requests it serves. A pure value; `KeyServer`
/// performs the effects.
public struct KeyHolding: Equatable, Sendable {
    /// The kind of process that holds a key.
    public enum Holder: UInt8, Sendable, CaseIterable {
        /// The process of `chatfs unlock`, which only holds the key.
        case agent = 1
        /// The process of a mount, which uses the key itself until it ends.
        case mount = 2
    }

    public enum Event: Hashable, Sendable, CaseIterable {
        /// A command of the same user requests the key.
        case asked
        /// `chatfs lock`.
        case locked
        /// The machine is about to sleep, or woke up.
        case sleeping, awake
        /// The user's session was locked.
        case sessionLocked
        /// The data directory is gone.
        case folderGone
        /// A check of the time limit.
        case looked
    }

    public enum Effect: Hashable, Sendable {
        /// Send the key to the command, or report that there is none.
        case give, refuse
        /// Forget the key; an agent also ends.
        case forget
        /// Release the delay of the machine's sleep.
        case letSleep
    }

    public let holder: Holder
    /// End of the holding in nanoseconds of the boot clock; nil if it has no time limit.
    public let end: Int64?
    public private(set) var isHeld = true

    /// - Parameter end: Time limit of an agent; ignored for a mount.
    public init(_ holder: Holder, until end: Int64? = nil) {
        (self.holder, self.end) = (holder, holder == .mount ? nil : end)
    }

    /// Returns the nanoseconds left, at least 0; nil if there is no time limit.
    public func remaining(at now: Int64) -> Int64? {
        end.map { max(0, $0.subtractingReportingOverflow(now).partialValue) }
    }

    /// - Parameter now: Nanoseconds of the boot clock, which includes sleep.
    public mutating func take(_ event: Event, at now: Int64) -> [Effect] {
        let isOver = end.map { now >= $0 } ?? false
        let ends =
            switch event {
            case .asked, .looked: isOver
            case .locked, .sleeping, .awake, .sessionLocked, .folderGone: holder == .agent
            }
        var effects: [Effect] = []
        if ends, isHeld {
            isHeld = false
            effects.append(.forget)
        }
        switch event {
        case .asked: effects.append(isHeld ? .give : .refuse)
        case .sleeping: effects.append(.letSleep)
        case .locked, .awake, .sessionLocked, .folderGone, .looked: break
        }
        return effects
    }
}
