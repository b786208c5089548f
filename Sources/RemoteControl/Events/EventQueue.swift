import Base
import Cryptography
import Posix

/// The phone's events between who fetches them and who takes them in. The phone's core stops when nobody fetches, so
/// fetching never waits: what is not taken in yet is in memory up to a limit, and behind that in a sealed file.
///
/// Blocks where the file is used; call it on a thread that may.
final class EventQueue: Sendable {
    enum Taken: Equatable {
        case event([UInt8])
        /// Events were dropped here: the disk was full, or did not keep them. The state is to be read anew.
        case lost
    }

    private struct State {
        var memory: [[UInt8]] = []
        /// What lies in front of it was taken.
        var head = 0
        var bytes = 0
        var spill: EventSpill?
        var isLost = false
    }

    private let limit: Int
    private let longest: UInt64
    private let makeFile: @Sendable () throws(SystemError) -> OpenFile
    private let mutex = BlockingMutex(rank: .stagedFile)
    // Only under `mutex`: a file is read and written with it.
    private nonisolated(unsafe) var state = State()

    /// - Parameters:
    ///   - limit: bytes in memory.
    ///   - longest: bytes in the file.
    ///   - makeFile: an empty file without a name, open for reading and writing.
    init(
        limit: Int = 1 << 20, longest: UInt64 = 1 << 30,
        makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        self.limit = limit
        self.longest = longest
        self.makeFile = makeFile
    }

    /// Takes an event in, whatever happens: where it has no place, the listener hears that some were lost.
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

    /// The oldest event, or that some were lost, which is said once; nil: none is there.
    func next() -> Taken? {
        mutex.withLock {
            if state.head < state.memory.count {
                let event = state.memory[state.head]
                state.memory[state.head] = []
                state.head += 1
                state.bytes -= event.count
                if state.head == state.memory.count { (state.memory, state.head) = ([], 0) }
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

    /// Under the mutex. Events in memory come first; those in the file are as good as lost.
    private func lose() {
        state.spill = nil
        state.isLost = true
    }
}
