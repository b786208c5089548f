import Base
import JSON
import Posix

/// Fetches the events of a session, one after the other and always, whether or not somebody takes them in: the phone's
/// core stops when it cannot get rid of them. Any thread.
public final class EventPump: Sendable {
    /// What the phone told.
    public enum Told: Sendable {
        /// JSON of the chat API: an event, or an error that is one.
        case event(JSONValue)
        /// Events were lost here: the state is to be read anew.
        case lost
    }

    private let connection: PhoneConnection
    private let queue: EventQueue
    private let arrived = AsyncSemaphore(0)

    /// How long the phone may wait for an event: as the official program has it wait.
    private static let wait = Duration.seconds(10)

    /// - Parameter makeFile: an empty file without a name for events that are not taken in yet.
    public init(
        _ connection: PhoneConnection, makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        self.connection = connection
        queue = EventQueue(makeFile: makeFile)
    }

    /// Fetches until the session is over or the task is cancelled. A phone that is frozen meanwhile is asked again.
    public func run() async {
        while connection.isOpen, !Task.isCancelled {
            do {
                switch try await connection.ask(.nextEvent(Self.wait)) {
                case .event(let event?), .failedEvent(let event), .refusal(let event):
                    await keep(Array(event.source))
                case .event(nil): break
                default: try await Task.sleep(for: .seconds(1))
                }
            } catch {
                // Between two attempts, where there is anybody to attempt it with.
                guard connection.isOpen else { break }
                try? await Task.sleep(for: .seconds(1))
            }
        }
        arrived.release()
    }

    private func keep(_ event: [UInt8]) async {
        await ThreadPool.shared.run { [queue] in queue.append(event) }
        arrived.release()
    }

    /// The next one, in their order; nil once the session is over and all were taken, or the task is cancelled.
    public func next() async -> Told? {
        while await arrived.acquire() {
            switch await ThreadPool.shared.run({ [queue] in queue.next() }) {
            case .event(let bytes):
                if let event = JSONValue.parse(bytes) { return .event(event) }
            case .lost: return .lost
            case nil where !connection.isOpen:
                // For whoever asks again.
                arrived.release()
                return nil
            case nil: continue
            }
        }
        return nil
    }
}
