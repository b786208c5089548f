import Base
import Cryptography
import Posix

/// A queue between fetching the phone's events and processing them. The phone's core stops without fetches, so adding
/// never waits: unprocessed events are in memory up to a limit, and further ones in a sealed file.
///
/// Blocks for the file, so call it on a thread that may block.
final class EventQueue: Sendable {
    enum Taken: Equatable {
        case event([UInt8])
        /// Events were dropped because the disk was full or failed. Read the state again.
        case lost
    }

    private struct State {
        var memory = ElementQueue<[UInt8]>()
        var bytes = 0
        var spill: EventSpill?
        var isLost = false
    }

    private let limit: Int
    private let longest: UInt64
    private let makeFile: @Sendable () throws(SystemError) -> OpenFile
    private let mutex = BlockingMutex(rank: .stagedFile)
    // Only under `mutex`, which covers reads and writes of the file.
    private nonisolated(unsafe) var state = State()

    /// - Parameters:
    ///   - limit: The bytes in memory.
    ///   - longest: The bytes in the file.
    ///   - makeFile: Creates an empty unnamed file, open for reading and writing.
    init(
        limit: Int = 1 << 20, longest: UInt64 = 1 << 30,
        makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        self.limit = limit
        self.longest = longest
        self.makeFile = makeFile
    }

    /// Adds an event. Without space it is dropped, and the listener gets `lost` once.
    func append(_ event: [UInt8]) {
        mutex.withLock {
            guard !state.isLost else { return }
            if state.spill?.isEmpty != false, state.bytes + event.count <= limit {
                state.memory.append(event)
                state.bytes += event.count
                return
            }
            do {
                let spill = try state.spill ?? EventSpill(makeFile(), limit: longest)
                state.spill = spill
                if try !spill.append(event) { lose() }
            } catch {
                lose()
            }
        }
    }

    /// Reports `lost` after the events in memory, for an event that never arrived.
    func noteLoss() { mutex.withLock { lose() } }

    /// Returns the oldest event, or `lost` once after a loss; nil if there is none.
    func next() -> Taken? {
        mutex.withLock {
            if let event = state.memory.popFirst() {
                state.bytes -= event.count
                return .event(event)
            }
            do {
                if let event = try state.spill?.next() { return .event(event) }
            } catch {
                lose()
            }
            defer { state.isLost = false }
            return state.isLost ? .lost : nil
        }
    }

    /// Call under the mutex. Events in memory come first; those in the file count as lost.
    private func lose() {
        state.spill = nil
        state.isLost = true
    }
}
