import Base
import Cryptography
import Glibc
import Posix

/// Gives the key of a data directory to commands of the same user, until it is to be forgotten (`KeyHolding`). Two threads
/// and more: one waits, one for each command that asks, at most eight. Any thread may tell it what happened.
public final class KeyServer: Sendable {
    private struct State {
        var holding: KeyHolding
        /// In locked memory; its last reference here goes when it is forgotten.
        var key: SecretBytes?
    }

    private let state: Lock<State>
    private let listener = Lock<SocketListener?>(nil)
    private let clock: any BootClock
    private let whenForgotten: @Sendable () -> Void

    /// Listens from now on, on a socket of mode 0600 below the data directory. Blocks.
    /// - Parameters:
    ///   - dataFolder: the data directory. Absolute.
    ///   - key: 32 bytes.
    ///   - whenForgotten: called once, when the key is gone.
    /// - Throws: `.system` where the socket cannot be made.
    public init(
        dataFolder: String, key: SecretBytes, holding: KeyHolding, clock: any BootClock = SystemBootClock(),
        whenForgotten: @escaping @Sendable () -> Void = {}
    ) throws(DesktopError) {
        precondition(key.count == KeyMessage.keyLength, "a data key has 32 bytes")
        state = Lock(State(holding: holding, key: key))
        self.clock = clock
        self.whenForgotten = whenForgotten
        do throws(SystemError) {
            let opened = try SocketListener(
                in: KeyFolder.make(in: dataFolder), named: "\(getpid())", threads: ("keys", "key-peer"),
                limit: 8
            ) { [weak self] in self?.converse(ControlChannel($0, timeout: .seconds(3))) }
            listener.withLock { $0 = opened }
        } catch {
            throw DesktopError(error)
        }
    }

    /// Hears nobody any longer, and forgets the key.
    public func stop() {
        state.withLock { $0.key = nil }
        listener.withLock { $0 }?.stop()
    }

    /// Time until the key goes; nil: time does not end it.
    public var remaining: Duration? {
        let now = clock.reading().nanoseconds
        return state.withLock { $0.holding.remaining(at: now) }.map { .nanoseconds($0) }
    }

    /// Tells what happened.
    /// - Returns: whether the machine need not wait with its sleep.
    @discardableResult
    public func take(_ event: KeyHolding.Event) -> Bool {
        let effects = perform(event).effects
        if effects.contains(.forget) { whenForgotten() }
        return effects.contains(.letSleep)
    }

    /// - Returns: also the key, where it is to be given.
    private func perform(_ event: KeyHolding.Event) -> (effects: [KeyHolding.Effect], key: SecretBytes?) {
        let now = clock.reading().nanoseconds
        return state.withLock { state in
            let effects = state.holding.take(event, at: now)
            if effects.contains(.forget) { state.key = nil }
            return (effects, effects.contains(.give) ? state.key : nil)
        }
    }

    private func converse(_ channel: ControlChannel) {
        var bytes: [UInt8] = [0]
        let isRead: Void? = try? bytes.withUnsafeMutableBufferPointer { (bytes) throws(DesktopError) in
            try channel.fill(UnsafeMutableRawBufferPointer(bytes))
        }
        guard isRead != nil, let request = KeyMessage.Request(rawValue: bytes[0]) else { return }
        let event: KeyHolding.Event =
            switch request {
            case .key: .asked
            case .state: .looked
            case .lock: .locked
            }
        let (effects, key) = perform(event)
        answer(channel, with: request == .key ? key : nil)
        if effects.contains(.forget) { whenForgotten() }
    }

    private func answer(_ channel: ControlChannel, with key: SecretBytes?) {
        let now = clock.reading().nanoseconds
        let (holder, left) = state.withLock { state in
            (state.key == nil ? nil : state.holding.holder, state.holding.remaining(at: now))
        }
        let head = KeyMessage.head(holder, seconds: left.map { $0 / 1_000_000_000 })
        guard (try? channel.writeBytes(head)) != nil, let key, holder != nil else { return }
        try? key.withUnsafeBytes { (bytes) throws(DesktopError) in try channel.write(bytes) }
    }
}
