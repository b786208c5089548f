import Base
import ChatCore
import Cryptography
import Posix

/// The daemon's end of the sockets for commands and for programs, while a profile is mounted. Both serve all of
/// `ControlMethod`.
///
/// Accepts at most 16 connections of commands and 32 of programs, of the same user only, each on a thread of its own
/// (`SocketListener`). Idle without connections or events.
public final class ControlServer: Sendable {
    /// Maximum time for a client to accept a line, and maximum silence of a command.
    static let timeout = Duration.seconds(30)

    private struct State {
        /// Set at the end of `init`, because connections use all other properties.
        var listeners: (commands: SocketListener, programs: SocketListener)?
        /// Number of connections with a transfer, including one just beginning.
        var transferCount = 0
        var transfers: [ObjectIdentifier: StandaloneTransfer] = [:]
    }

    let core: any ChatCore
    let mountpoint: String
    let removesMetadata: Bool
    let markKey: SecretBytes?
    private let state = Lock(State())
    let folders: MountedFolders
    let service: any ControlService
    /// By message id: a repetition finds the outcome of the first request.
    let sends = AsyncKeyedMutex<String>()

    /// Starts listening.
    /// - Parameters:
    ///   - profileFolder: The profile's directory, whose lock this process holds.
    ///   - mountpoint: This process's mountpoint, absolute and without symbolic links. The process must never wait for
    ///     its own mount.
    ///   - removesMetadata: True if clients must remove metadata from pictures before sending.
    ///   - markKey: Key of the request marks (`UnansweredRequests.key`).
    ///   - socket: The socket for programs.
    /// - Throws: `.system` if a socket cannot be created.
    public init(
        profileFolder: String, core: any ChatCore, mountpoint: String, removesMetadata: Bool = false,
        markKey: SecretBytes? = nil, service: any ControlService, at socket: ProgramSocket
    ) throws(DesktopError) {
        self.core = core
        self.mountpoint = mountpoint
        self.removesMetadata = removesMetadata
        self.markKey = markKey
        self.service = service
        folders = MountedFolders(name: { service.folderName(of: $0) })
        let commands = try SocketListener(
            in: ControlSocket.openFolder(profileFolder), named: ControlSocket.name,
            threads: ("control", "control-peer"), limit: 16
        ) { [weak self] in self?.converse($0, silence: Self.timeout) }
        do throws(DesktopError) {
            let programs = try SocketListener(
                in: socket.folder, named: socket.name, threads: ("programs", "program"), limit: 32
            ) { [weak self] in self?.converse($0, silence: nil) }
            state.withLock { $0.listeners = (commands, programs) }
        } catch {
            commands.stop()
            throw error
        }
    }

    /// Stops accepting connections and closes those of programs. Running conversations of commands end by themselves.
    public func stop() {
        guard let (commands, programs) = state.withLock({ $0.listeners }) else { return }
        commands.stop()
        programs.stop()
        programs.hangUp()
    }

    /// Cancels the transfers of commands. Called after `stop`, while the core can still clean up.
    public func cancelTransfers() async {
        let end = ContinuousClock.now + .seconds(10)
        for transfer in state.withLock({ Array($0.transfers.values) }) { await transfer.cancel() }
        // A concurrent begin sees that the server stopped and cancels its transfer itself.
        while state.withLock({ $0.transferCount > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Serves one connection: answers its requests in order and, once it has subscribed, sends events between them.
    /// Returns when the client hangs up, is silent or too slow, or the server stops.
    /// - Parameter silence: Maximum time between two requests; nil for no limit.
    private func converse(_ connection: OpenFile, silence: Duration?) {
        let channel = ControlChannel(connection, timeout: Self.timeout)
        var subscription: (events: any ProgramSubscription, wakeUp: WakeUp, interest: ProgramInterest)?
        defer { subscription?.events.cancel() }
        do {
            try channel.send(service.greeting)
            while true {
                let arrived = channel.waitForLine(beside: subscription?.wakeUp.descriptor, within: silence)
                if arrived.isWoken, let subscription {
                    subscription.wakeUp.clear()
                    for event in BlockingTask.value({ await subscription.events.take() }) {
                        try channel.send(event)
                    }
                }
                guard arrived.isReadable else {
                    guard arrived.isWoken || silence == nil else { throw DesktopError.silent }
                    continue
                }
                guard let exchange = try ControlExchange(readingFrom: channel) else { continue }
                if exchange.method == .subscribe {
                    guard let request: SubscribeRequest = try exchange.parameters() else { continue }
                    let what = request.what ?? ProgramInterest.entries.rawValue
                    guard let interest = ProgramInterest(rawValue: what) else {
                        try exchange.refuse(
                            ProgramError(.invalidParameter, "Programs subscribe to 'entries' or 'status'."))
                        continue
                    }
                    // The latest interest counts.
                    if subscription?.interest != interest {
                        let wakeUp = try WakeUp()
                        subscription?.events.cancel()
                        subscription = (
                            service.subscribe(to: interest) { wakeUp.notify() }, wakeUp, interest
                        )
                    }
                }
                try answer(exchange)
            }
        } catch {
            log.debug("client disconnected: error=\(sentenceWithCauses(of: error))")
        }
    }

    /// Runs a transfer while its client is connected, and reports its progress.
    func transfer(_ exchange: ControlExchange) throws(DesktopError) {
        guard let request: StandaloneRequest = try exchange.parameters() else { return }
        if let path = request.path, path.path(below: mountpoint) != nil {
            return try exchange.refuse(
                ProgramError(
                    .refused, "A file of this mount cannot be named here: copy it to another place."))
        }
        state.withLock { $0.transferCount += 1 }
        defer { state.withLock { $0.transferCount -= 1 } }
        let transfer = BlockingTask.value { [core] in await StandaloneTransfer.begin(request, on: core) }
        state.withLock { $0.transfers[ObjectIdentifier(transfer)] = transfer }
        defer { state.withLock { $0.transfers[ObjectIdentifier(transfer)] = nil } }
        let commands = state.withLock { $0.listeners?.commands }
        if commands?.isStopped == true { BlockingTask.value { await transfer.cancel() } }
        do throws(DesktopError) {
            repeat {
                let state = transfer.state
                if let problem = state.problem {
                    return try exchange.refuse(ProgramError(.refused, problem))
                }
                try exchange.send(state)
                if state.isOver { return }
            } while !exchange.channel.isAbandoned(within: .milliseconds(100))
        } catch {
            BlockingTask.value { await transfer.withdraw() }
            throw error
        }
        BlockingTask.value { await transfer.withdraw() }
    }
}
