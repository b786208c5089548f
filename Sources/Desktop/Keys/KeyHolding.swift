/// Decides for how long a process holds a data key for commands, and which of them get it. A value without input and
/// output: `KeyServer` performs the effects.
public struct KeyHolding: Equatable, Sendable {
    /// The process that holds a key.
    public enum Holder: UInt8, Sendable, CaseIterable {
        /// The process of `chatfs unlock`: it holds the key and nothing else.
        case agent = 1
        /// The process of a mount, which uses the key itself until it ends.
        case mount = 2
    }

    public enum Event: Hashable, Sendable, CaseIterable {
        /// A command of the same user asks for the key.
        case asked
        /// `chatfs lock`.
        case locked
        /// The machine is about to sleep, or has slept.
        case sleeping, awake
        /// The session of the user was locked.
        case sessionLocked
        /// The data directory is gone.
        case folderGone
        /// Time may be over.
        case looked
    }

    public enum Effect: Hashable, Sendable {
        /// The command gets the key, or is told that there is none.
        case give, refuse
        /// The key goes, and the process with it if it is an agent.
        case forget
        /// The machine need not wait any longer.
        case letSleep
    }

    public let holder: Holder
    /// When the key goes, in nanoseconds of the boot clock; nil: time does not end it.
    public let end: Int64?
    public private(set) var isHeld = true

    /// - Parameter end: of an agent; a mount holds its key until it ends.
    public init(_ holder: Holder, until end: Int64? = nil) {
        (self.holder, self.end) = (holder, holder == .mount ? nil : end)
    }

    /// Nanoseconds until time ends it, never less than 0; nil: it does not.
    public func remaining(at now: Int64) -> Int64? {
        end.map { max(0, $0.subtractingReportingOverflow(now).partialValue) }
    }

    /// - Parameter now: nanoseconds of the boot clock, which counts while the machine sleeps.
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
