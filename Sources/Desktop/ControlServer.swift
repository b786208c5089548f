import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// The daemon's end of the control socket. Serves the requests of commands (`ControlMethod`) while the profile is
/// mounted.
///
/// Accepts at most 16 connections, of the same user only, each on a thread of its own (`SocketListener`).
public final class ControlServer: Sendable {
    private static let maxConnections = 16
    /// Maximum silence of a client.
    static let timeout = Duration.seconds(30)

    private struct State {
        /// Set at the end of `init`, because connections use all other properties.
        var listener: SocketListener?
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
    private let whenSent: @Sendable (ChatItem) async -> Void
    private let answerCacheRequest: @Sendable (CacheRequest) async throws -> CacheRequest.Answer
    private let answerKeepRequest: @Sendable (KeepRequest) async throws -> KeepRequest.Answer
    private let answerFreeRequest: @Sendable (FreeRequest) async throws -> FreeRequest.Answer
    private let answerDeleteRequest: @Sendable (DeleteRequest) async throws -> DeleteRequest.Answer
    /// By message id: a repetition finds the outcome of the first request.
    private let sends = AsyncKeyedMutex<String>()

    /// Starts listening.
    /// - Parameters:
    ///   - profileFolder: The profile's directory, whose lock this process holds.
    ///   - mountpoint: This process's mountpoint, absolute and without symbolic links. The process must never wait for
    ///     its own mount.
    ///   - removesMetadata: True if clients must remove metadata from pictures before sending.
    ///   - markKey: Key of the request marks (`UnansweredRequests.key`).
    ///   - folderName: Returns the name of a chat's folder; nil while there is none.
    ///   - whenSent: Receives each sent item, because the core reports it only to the sender. The client's reply waits
    ///     for it.
    ///   - answerCacheRequest: Carries out requests about the cache, within about a second.
    ///   - answerKeepRequest: Carries out requests about keep rules.
    ///   - answerFreeRequest: Deletes local copies.
    ///   - answerDeleteRequest: Finds and deletes messages with files.
    /// - Throws: `.system` if the socket cannot be created.
    public init(
        profileFolder: String, core: any ChatCore, mountpoint: String, removesMetadata: Bool = false,
        markKey: SecretBytes? = nil,
        folderName: @escaping @Sendable (ChatReference) -> String?,
        whenSent: @escaping @Sendable (ChatItem) async -> Void,
        answerCacheRequest: @escaping @Sendable (CacheRequest) async throws -> CacheRequest.Answer,
        answerKeepRequest: @escaping @Sendable (KeepRequest) async throws -> KeepRequest.Answer,
        answerFreeRequest: @escaping @Sendable (FreeRequest) async throws -> FreeRequest.Answer,
        answerDeleteRequest: @escaping @Sendable (DeleteRequest) async throws -> DeleteRequest.Answer
    ) throws(DesktopError) {
        self.core = core
        self.mountpoint = mountpoint
        self.removesMetadata = removesMetadata
        self.markKey = markKey
        folders = MountedFolders(name: folderName)
        self.whenSent = whenSent
        self.answerCacheRequest = answerCacheRequest
        self.answerKeepRequest = answerKeepRequest
        self.answerFreeRequest = answerFreeRequest
        self.answerDeleteRequest = answerDeleteRequest
        let opened = try SocketListener(
            in: ControlSocket.openFolder(profileFolder), named: ControlSocket.name,
            threads: ("control", "control-peer"), limit: Self.maxConnections
        ) { [weak self] in self?.converse(ControlChannel($0, timeout: Self.timeout)) }
        state.withLock { $0.listener = opened }
    }

    /// Stops accepting connections. Running conversations end by themselves.
    public func stop() { state.withLock { $0.listener }?.stop() }

    /// Cancels the transfers of commands. Called after `stop`, while the core can still clean up.
    public func cancelTransfers() async {
        let end = ContinuousClock.now + .seconds(10)
        for transfer in state.withLock({ Array($0.transfers.values) }) { await transfer.cancel() }
        // A concurrent begin sees that the server stopped and cancels its transfer itself.
        while state.withLock({ $0.transferCount > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Serves the requests of one connection until it ends.
    private func converse(_ channel: ControlChannel) {
        do throws(DesktopError) {
            while true {
                if let exchange = try ControlExchange(readingFrom: channel) { try answer(exchange) }
            }
        } catch {
            // The command is gone or too slow.
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
            try exchange.answer { [core, folders] (request: ChatManagementRequest) in
                try await request.carryOut(on: core, naming: folders)
            }
        case .links:
            try exchange.answer { [core] (request: LinkRequest) in try await request.carryOut(on: core) }
        case .contacts:
            try exchange.answer { [self] (request: ContactRequest) in try await carryOut(request) }
        case .transfer: try transfer(exchange)
        case .cache: try exchange.answer(answerCacheRequest)
        case .rules: try exchange.answer(answerKeepRequest)
        case .freeFiles: try exchange.answer(answerFreeRequest)
        case .deleteFiles: try exchange.answer(answerDeleteRequest)
        default: try exchange.refuse(ProgramError(.malformed, "This method is for programs."))
        }
    }

    private func terms(for inquiry: SendingInquiry) async throws(ChatError) -> SendingTerms {
        let chat = try await folders.chats(of: core).chat(inquiry.destination)
        if let refused = chat.chat.sendingRefused { throw ChatError(.sendingRefused, refused) }
        return SendingTerms(
            chat: chat.reference.description, largest: core.limits.maxFileSize(in: chat.reference),
            stagingFolder: core.stagingFolder, removesMetadata: removesMetadata ? true : nil,
            markKey: markKey)
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
        let isStopped = state.withLock { state in
            state.transfers[ObjectIdentifier(transfer)] = transfer
            return state.listener
        }?.isStopped
        defer { state.withLock { $0.transfers[ObjectIdentifier(transfer)] = nil } }
        if isStopped == true { BlockingTask.value { await transfer.cancel() } }
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
                await whenSent(item)
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
                try await core.send(text, to: receiver(request.to))
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
