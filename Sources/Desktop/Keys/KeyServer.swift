import Base
import Cryptography
import Glibc
import Posix

/// Provides the key of a data directory to commands of the same user until it is forgotten (`KeyHolding`). Uses one
/// listening thread and at most eight threads for commands. `take` is thread-safe.
public final class KeyServer: Sendable {
    private struct State {
        var holding: KeyHolding
        /// In locked memory; cleared when the key is forgotten.
        var key: SecretBytes?
        /// Set at the end of `init`.
        var listener: SocketListener?
    }

    private let state: Lock<State>
    private let clock: any BootClock
    private let whenForgotten: @Sendable () -> Void

    /// Starts listening on a socket of mode 0600 in the data directory. Blocks.
    /// - Parameters:
    ///   - dataFolder: Absolute path of the data directory.
    ///   - key: 32 bytes.
    ///   - whenForgotten: Called once, after the key is forgotten.
    /// - Throws: `.system` if the socket cannot be created.
    public init(
        dataFolder: String, key: SecretBytes, holding: KeyHolding, clock: any BootClock = SystemBootClock(),
        whenForgotten: @escaping @Sendable () -> Void = {}
    ) throws(DesktopError) {
        precondition(key.count == KeyMessage.keyLength, "a data key has 32 bytes")
        state = Lock(State(holding: holding, key: key))
        self.clock = clock
        self.whenForgotten = whenForgotten
        let folder: OpenFile
        do throws(SystemError) {
            folder = try KeyFolder.make(in: dataFolder)
        } catch {
            throw DesktopError(error)
        }
        let opened = try SocketListener(
            in: folder, named: "\(getpid())", threads: ("keys", "key-peer"), limit: 8
        ) { [weak self] in self?.converse(ControlChannel($0, timeout: .seconds(3))) }
        state.withLock { $0.listener = opened }
    }

    /// Stops listening and forgets the key.
    public func stop() {
        let listener = state.withLock { state in
            state.key = nil
            return state.listener
        }
        listener?.stop()
    }

    /// Time until the key is forgotten; nil if there is no time limit.
    public var remaining: Duration? {
        let now = clock.reading().nanoseconds
        return state.withLock { $0.holding.remaining(at: now) }.map { .nanoseconds($0) }
    }

    /// Handles an event.
    /// - Returns: True if the machine's sleep need not wait any longer.
    @discardableResult
    public func take(_ event: KeyHolding.Event) -> Bool {
        let effects = perform(event).effects
        if effects.contains(.forget) { whenForgotten() }
        return effects.contains(.letSleep)
    }

    /// - Returns: The effects, and the key if it is to be sent.
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
