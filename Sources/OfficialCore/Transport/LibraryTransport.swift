import Base
import ChatCore
import Cryptography
import Posix

/// An official core as a library in this process, without a port. The recommended kind.
///
/// Chats are started by the command `start`, after folders and encryption were set. A process must not fork
/// and continue after `open`, so a background mount forks first.
public final class LibraryTransport: OfficialTransport {
    let library: SimplexLibrary
    let controller: SimplexLibrary.Controller
    private let pending = PendingRequests(refusal: nil)
    private let stream = TransportEvents()
    private let state = Lock(State())

    private struct State {
        var isClosing = false
        /// Threads that run a command in the library, or are about to.
        var inside = 0
    }

    /// One ordered thread per lane; the core works on both in parallel. Like the library, the threads live as long as
    /// the process.
    static let lanes = [
        TransportLane.foreground: ThreadPool(name: "simplex-front", threads: 1),
        TransportLane.background: ThreadPool(name: "simplex-back", threads: 1),
    ]

    /// Timeout of one wait for events in the library, in microseconds: ten minutes, so that an idle process
    /// sleeps. No code waits for that thread; the event queue is in memory and stays valid after the
    /// databases are closed.
    private static let eventTimeout: Int32 = 600_000_000

    private init(library: SimplexLibrary, controller: SimplexLibrary.Controller) {
        self.library = library
        self.controller = controller
    }

    /// Loads the library and opens the databases. Creates missing ones and migrates old ones.
    ///
    /// - Parameter passphrase: UTF-8 without NUL; nil if not encrypted. Not kept: it is wiped with the last
    ///   reference.
    /// - Throws: `.invalidCommand` for a passphrase with NUL; `.inUse`, `.notInstalled`, `.database`,
    ///   `.notUnderstood`.
    public static func open(
        library path: String, database: DatabaseFiles, passphrase: SecretBytes? = nil
    ) async throws(OfficialCoreError) -> LibraryTransport {
        guard passphrase?.withUnsafeBytes({ $0.contains(0) }) != true else {
            throw OfficialCoreError(.invalidCommand, "A passphrase cannot contain the character NUL.")
        }
        // The first thread that enters the Haskell runtime must be a permanent one.
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
            Self.lanes[lane]?.submit { self.run(text, name) }
        }
    }

    /// Runs work in the library on the foreground lane.
    /// - Throws: `.closed`; the work was not run.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(OfficialCoreError) -> Result {
        let isOpen = state.withLock { state in
            if !state.isClosing { state.inside += 1 }
            return !state.isClosing
        }
        guard isOpen, let front = Self.lanes[.foreground] else {
            throw OfficialCoreError(.closed, "The SimpleX core is closed.")
        }
        defer { state.withLock { $0.inside -= 1 } }
        return await front.run(body)
    }

    /// Constant, because the core in this process is never replaced.
    public func connection(of lane: TransportLane) -> UInt64 { 1 }

    private func run(_ text: String, _ name: String) {
        let frame = APIFrame(library.command(text, controller))
        defer { state.withLock { $0.inside -= 1 } }
        let outcome = Result { () throws(OfficialCoreError) in
            guard let frame else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX library returned an invalid answer.")
            }
            return try frame.answer()
        }
        // The request has expired, but only this answer contains the sent item.
        if !pending.finish(name, outcome), case .success(.newChatItems) = outcome, let frame {
            stream.tell(.event(frame.event))
        }
    }

    public func events() -> AsyncStream<TransportEvent> { stream.stream() }

    /// Stops the chats and closes the databases after running commands have ended. If the library does not
    /// return from a command within 15 s, it stays open until the process ends.
    public func close() async {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        guard isFirst else { return }
        // An error is ignored, because the core is closed anyway.
        _ = try? await request(.stop, timeout: .seconds(10))
        pending.fail(OfficialCoreError(.closed, "The SimpleX core is closed."))
        let end = ContinuousClock.now + .seconds(15)
        while state.withLock({ $0.inside > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
        if state.withLock({ $0.inside == 0 }) {
            await Self.lanes[.foreground]?.run { [library, controller] in library.close(controller) }
        }
        stream.finish()
    }
}
