import Base
import JSON
import Posix

/// Fetches the events of a session continuously, because the phone's core stops otherwise. Safe to use from any thread.
public final class EventPump: Sendable {
    /// An event of the phone.
    public enum Told: Sendable {
        /// JSON of the chat API: an event or an error.
        case event(JSONValue)
        /// Events were lost. Read the state again.
        case lost
    }

    private let ask: @Sendable () async throws -> PhoneAnswer
    private let isOpen: @Sendable () -> Bool
    private let queue: EventQueue
    private let arrived = AsyncSemaphore(0)

    /// The time for which the phone waits for an event, as with the official program.
    private static let wait = Duration.seconds(10)

    /// - Parameter makeFile: Creates an empty unnamed file for unprocessed events.
    public convenience init(
        _ connection: PhoneConnection, makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        self.init(
            ask: { try await connection.ask(.nextEvent(EventPump.wait)) }, isOpen: { connection.isOpen },
            makeFile: makeFile)
    }

    /// - Parameters:
    ///   - ask: Asks the phone for the next event.
    ///   - isOpen: Returns true during the session.
    init(
        ask: @escaping @Sendable () async throws -> PhoneAnswer, isOpen: @escaping @Sendable () -> Bool,
        makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        (self.ask, self.isOpen) = (ask, isOpen)
        queue = EventQueue(makeFile: makeFile)
    }

    /// Fetches until the session ends or the task is cancelled. Retries if the phone gave up a request, and
    /// reports its event as lost.
    public func run() async {
        var hasFailed = false
        while isOpen(), !Task.isCancelled {
            do {
                let (event, hasWaited): (JSONValue?, Bool) =
                    switch try await ask() {
                    case .event(let event): (event, true)
                    case .failedEvent(let event): (event, true)
                    case .refusal(let event): (event, false)
                    default: (nil, false)
                    }
                if let event { await keep(Array(event.source)) }
                if hasFailed { await noteLoss() }
                hasFailed = false
                // The phone gave the answer without a wait.
                if !hasWaited { try await Task.sleep(for: .seconds(1)) }
            } catch {
                // The delay between two attempts.
                guard isOpen() else { break }
                hasFailed = true
                try? await Task.sleep(for: .seconds(1))
            }
        }
        arrived.release()
    }

    private func noteLoss() async {
        await ThreadPool.shared.run { [queue] in queue.noteLoss() }
        arrived.release()
    }

    private func keep(_ event: [UInt8]) async {
        await ThreadPool.shared.run { [queue] in queue.append(event) }
        arrived.release()
    }

    /// Returns the next event in order, or nil at the end of the session or when the task is cancelled.
    public func next() async -> Told? {
        while await arrived.acquire() {
            switch await ThreadPool.shared.run({ [queue] in queue.next() }) {
            case .event(let bytes):
                if let event = JSONValue.parse(bytes) { return .event(event) }
            case .lost: return .lost
            case nil where !isOpen():
                // For the next caller.
                arrived.release()
                return nil
            case nil: continue
            }
        }
        return nil
    }
}
