import Base
import ChatCore
import Cryptography
import Posix

/// An official core in this process: no port, nobody else can reach it. The recommended one.
///
/// The chat is not started yet when this is made: `start` (with folders and encryption set before) does it.
/// No fork may go on after `open`, so a mount in the background forks first.
public final class LibraryTransport: OfficialTransport {
    let library: SimplexLibrary
    let controller: SimplexLibrary.Controller
    private let pending = PendingRequests(refusal: nil)
    private let stream = TransportEvents()
    /// One thread for each lane, which keeps the order; the core works on both at once.
    private let threads: [TransportLane: ThreadPool]
    private let state = Lock(State())

    private struct State {
        var isClosing = false
        /// Threads that carry out commands in the library, or are on their way there.
        var inside = 0
    }

    /// Threads live as long as the process, as the library does.
    static let lanes = [
        TransportLane.foreground: ThreadPool(name: "simplex-front", threads: 1),
        TransportLane.background: ThreadPool(name: "simplex-back", threads: 1),
    ]

    /// How long the thread of the events waits in the library at a time, in microseconds: ten minutes, so that
    /// an idle process sleeps. Nobody waits for that thread: it waits for the queue of events, which is in
    /// memory and stays when the databases are closed.
    private static let eventTimeout: Int32 = 600_000_000

    private init(library: SimplexLibrary, controller: SimplexLibrary.Controller) {
        self.library = library
        self.controller = controller
        threads = Self.lanes
    }

    /// Loads the library and opens the databases, which it makes when there are none and brings up to date.
    ///
    /// - Parameter passphrase: UTF-8 without NUL; nil for databases that are not encrypted. Not kept: where the
    ///   caller keeps none either, it is wiped with the last reference.
    /// - Throws: `.invalidCommand` for a passphrase with NUL; `.inUse`, `.notInstalled`, `.database`,
    ///   `.notUnderstood`.
    public static func open(
        library path: String, database: DatabaseFiles, passphrase: SecretBytes? = nil
    ) async throws(OfficialCoreError) -> LibraryTransport {
        guard passphrase?.withUnsafeBytes({ $0.contains(0) }) != true else {
            throw OfficialCoreError(.invalidCommand, "A passphrase cannot hold the character NUL.")
        }
        // The first thread that enters the run-time system must be one that stays.
        guard let front = lanes[.foreground] else { preconditionFailure("every lane has its thread") }
        return try await front.run { () throws(OfficialCoreError) in
            try database.checkUnused()
            let library = try SimplexLibrary.load(path)
            let controller = try library.open(prefix: database.prefix, passphrase: passphrase)
            let transport = LibraryTransport(library: library, controller: controller)
            transport.stream.tell(.connected)
            Thread.start("simplex-events") { transport.listen() }
            return transport
        }
    }

    private func listen() {
        while !state.withLock({ $0.isClosing }) {
            let bytes = library.nextEvent(controller, microseconds: Self.eventTimeout)
            guard !bytes.isEmpty, let frame = APIFrame(bytes) else { continue }
            stream.tell(.event(frame.event))
        }
    }

    public func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        let text = try command.text()
        return try await pending.request(timeout: timeout) { [self] name throws(OfficialCoreError) in
            state.withLock { $0.inside += 1 }
            threads[lane]?.submit { self.run(text, name) }
        }
    }

    /// Carries out work in the library among the commands of somebody who waits.
    /// - Throws: `.closed`; nothing was done.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(OfficialCoreError) -> Result {
        let isOpen = state.withLock { state in
            if !state.isClosing { state.inside += 1 }
            return !state.isClosing
        }
        guard isOpen, let front = threads[.foreground] else {
            throw OfficialCoreError(.closed, "The SimpleX core is closed.")
        }
        defer { state.withLock { $0.inside -= 1 } }
        return await front.run(body)
    }

    /// The core is in this process: there is never another.
    public func connection(of lane: TransportLane) -> UInt64 { 1 }

    private func run(_ text: String, _ name: String) {
        let frame = APIFrame(library.command(text, controller))
        defer { state.withLock { $0.inside -= 1 } }
        let outcome = Result { () throws(OfficialCoreError) in
            guard let frame else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX library answered nonsense.")
            }
            return try frame.answer()
        }
        // Nobody waits any more: what a send made is told in this answer and nowhere else.
        if !pending.finish(name, outcome), case .success(.newChatItems) = outcome, let frame {
            stream.tell(.event(frame.event))
        }
    }

    public func events() -> AsyncStream<TransportEvent> { stream.stream() }

    /// Stops the chat and closes the databases. Commands under way come to their end first; a library that
    /// does not come back from one for 15 seconds is left to the end of the process.
    public func close() async {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        guard isFirst else { return }
        // Best effort: a core that does not answer is closed all the same.
        _ = try? await request(.stop, timeout: .seconds(10))
        pending.fail(OfficialCoreError(.closed, "The SimpleX core is closed."))
        let end = ContinuousClock.now + .seconds(15)
        while state.withLock({ $0.inside > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
        if state.withLock({ $0.inside == 0 }) {
            await threads[.foreground]?.run { [library, controller] in library.close(controller) }
        }
        stream.finish()
    }
}
