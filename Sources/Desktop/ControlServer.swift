import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
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

    private let core: any ChatCore
    private let mountpoint: String
    private let removesMetadata: Bool
    private let markKey: SecretBytes?
    private let state = Lock(State())
    private let folders: MountedFolders
    private let service: any ControlService
    /// By message id: a repetition finds the outcome of the first request.
    private let sends = AsyncKeyedMutex<String>()

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
        var subscription: (events: any ProgramSubscription, wakeUp: WakeUp)?
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
                guard exchange.method == .subscribe else {
                    try answer(exchange)
                    continue
                }
                guard try exchange.parameters(ProgramRequest.self) != nil else { continue }
                if subscription == nil {
                    let wakeUp = try WakeUp()
                    subscription = (service.subscribe { wakeUp.notify() }, wakeUp)
                }
                try exchange.send(ProgramResult(done: true))
            }
        } catch {
            log.debug("client disconnected: error=\(sentenceWithCauses(of: error))")
        }
    }

    private func answer(_ exchange: ControlExchange) throws(DesktopError) {
        switch exchange.method {
        case .sendingTerms:
            try exchange.answer { [self] (inquiry: SendingInquiry) in try await terms(for: inquiry) }
        case .sendFile:
            try exchange.answer { [self] (request: FileRequest) in
                try await send(request, over: exchange.channel)
            }
        case .say:
            try exchange.answer { [self] (request: TextRequest) in
                try await send(request, over: exchange.channel)
            }
        case .chats:
            try exchange.answer { [self] (request: ChatManagementRequest) in try await carryOut(request) }
        case .links:
            try exchange.answer { [self] (request: LinkRequest) in try await carryOut(request) }
        case .contacts:
            try exchange.answer { [self] (request: ContactRequest) in try await carryOut(request) }
        case .transfer: try transfer(exchange)
        case .cache:
            try exchange.answer { [service] (request: CacheRequest) in try await service.carryOut(request) }
        case .rules:
            try exchange.answer { [service] (request: KeepRequest) in try await service.carryOut(request) }
        case .freeFiles:
            try exchange.answer { [service] (request: FreeRequest) in try await service.carryOut(request) }
        case .deleteFiles:
            try exchange.answer { [service] (request: DeleteRequest) in try await service.carryOut(request) }
        // Of programs.
        default:
            try exchange.answer { [service] (request: ProgramRequest) in try await service.carryOut(request) }
        }
    }

    private func terms(for inquiry: SendingInquiry) async throws(ChatError) -> SendingTerms {
        let chat = try await folders.chats(of: core).chat(inquiry.chat)
        if let refused = chat.chat.sendingRefused { throw ChatError(.sendingRefused, refused) }
        return SendingTerms(
            chat: chat.reference.description, largest: core.limits.maxFileSize(in: chat.reference),
            stagingFolder: core.stagingFolder, removesMetadata: removesMetadata ? true : nil,
            markKey: markKey)
    }

    private func carryOut(_ request: ChatManagementRequest) async throws(ChatError) -> [String] {
        try await request.carryOut(on: core, naming: folders)
    }

    private func carryOut(_ request: LinkRequest) async throws(ChatError) -> [LinkDescription] {
        try await request.carryOut(on: core)
    }

    /// Adds the path of the chat's folder to the result.
    private func carryOut(_ request: ContactRequest) async throws(ChatError) -> ContactAnswer {
        var answer = try await request.carryOut(on: core, naming: folders)
        if let chat = answer.chat.flatMap(ChatReference.init) {
            answer.folder = await folders.names(of: [chat])[chat].map { "\(mountpoint)/\($0)" }
        }
        return answer
    }

    /// Runs a transfer while its client is connected, and reports its progress.
    private func transfer(_ exchange: ControlExchange) throws(DesktopError) {
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

    private func send(
        _ request: FileRequest, over channel: ControlChannel
    ) async throws(ProgramError) -> SendingReply {
        guard let message = request.composedMessage(stagingFolder: core.stagingFolder) else {
            throw ProgramError(.malformed, DesktopError.malformed.sentence)
        }
        return try await sends.withLock(message.id) { () async throws(ProgramError) -> SendingReply in
            // A client that reported a failure must not find the message sent later.
            guard !channel.isAbandoned else {
                unlink(message.source.path)
                throw ProgramError(.refused, DesktopError.hungUp.sentence)
            }
            do throws(ChatError) {
                let item = try await core.send(message, to: receiver(request.chat))
                await service.wasSent(item)
                // A repetition does not need the file.
                unlink(message.source.path)
                return SendingReply(item: item.id.rawValue)
            } catch {
                // The client stages the file again before it repeats the request.
                if error.code == .sendingUndecided { unlink(message.source.path) }
                throw ProgramError(sending: error)
            }
        }
    }

    private func send(
        _ request: TextRequest, over channel: ControlChannel
    ) async throws(ProgramError) -> SendingReply {
        guard let text = request.composed else {
            throw ProgramError(.malformed, DesktopError.malformed.sentence)
        }
        return try await sends.withLock(text.id) { () async throws(ProgramError) -> SendingReply in
            guard !channel.isAbandoned else {
                throw ProgramError(.refused, DesktopError.hungUp.sentence)
            }
            do throws(ChatError) {
                try await core.send(text, to: receiver(request.chat))
                return SendingReply()
            } catch {
                throw ProgramError(sending: error)
            }
        }
    }

    /// Returns the chat of this name if it accepts messages.
    private func receiver(_ name: String) async throws(ChatError) -> ChatReference {
        let chat = try await folders.chats(of: core).chat(name)
        if let refused = chat.chat.sendingRefused { throw ChatError(.sendingRefused, refused) }
        return chat.reference
    }
}
