import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// The daemon's end of the control socket. Serves the requests of commands (`ControlLine`) while the profile is
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
    private let answerCacheRequest: @Sendable (CacheRequest) async -> CacheAnswer
    private let answerKeepRequest: @Sendable (KeepRequest) async -> KeepAnswer
    private let answerFreeRequest: @Sendable (FreeRequest) async -> FreeAnswer
    private let answerDeleteRequest: @Sendable (DeleteRequest) async -> DeleteAnswer
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
        answerCacheRequest: @escaping @Sendable (CacheRequest) async -> CacheAnswer,
        answerKeepRequest: @escaping @Sendable (KeepRequest) async -> KeepAnswer,
        answerFreeRequest: @escaping @Sendable (FreeRequest) async -> FreeAnswer,
        answerDeleteRequest: @escaping @Sendable (DeleteRequest) async -> DeleteAnswer
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
                switch try channel.receive(ControlLine.self) {
                case .inquire(let inquiry):
                    try channel.send(
                        BlockingTask.value { [core, folders, removesMetadata, markKey] in
                            await inquiry.reply(
                                from: core, naming: folders, removesMetadata: removesMetadata,
                                markKey: markKey
                            )
                        })
                case .send(let request): try answer(request, channel)
                case .text(let request): try answer(request, channel)
                case .manage(let request):
                    try channel.send(
                        BlockingTask.value { [core, folders] in
                            await request.reply(from: core, naming: folders)
                        })
                case .link(let request):
                    try channel.send(BlockingTask.value { [core] in await request.reply(from: core) })
                case .contact(let request):
                    var answer = BlockingTask.value { [core, folders] in
                        await request.reply(from: core, naming: folders)
                    }
                    answer.folder = answer.chat.flatMap(ChatReference.init).flatMap(folder)
                    try channel.send(answer)
                case .transfer(let request): try transfer(request, channel)
                case .keep(let request):
                    try channel.send(
                        BlockingTask.value { [answerKeepRequest] in await answerKeepRequest(request) })
                case .free(let request):
                    try channel.send(
                        BlockingTask.value { [answerFreeRequest] in await answerFreeRequest(request) })
                case .delete(let request):
                    try channel.send(
                        BlockingTask.value { [answerDeleteRequest] in await answerDeleteRequest(request) })
                case .cache(let request):
                    try channel.send(
                        BlockingTask.value { [answerCacheRequest] in await answerCacheRequest(request) })
                }
            }
        } catch {
            switch error.code {
            case .malformed: try? channel.send(ControlReply(problem: DesktopError.malformed.sentence))
            // The reply exceeds a line.
            case .refused:
                try? channel.send(ControlReply(problem: "There is too much to tell of it at once."))
            default: break
            }
        }
    }

    /// Returns the path of a chat's folder.
    private func folder(of chat: ChatReference) -> String? {
        let name = BlockingTask.value { [folders] in await folders.names(of: [chat])[chat] }
        return name.map { "\(mountpoint)/\($0)" }
    }

    /// Runs a transfer while its client is connected, and reports its progress.
    private func transfer(_ request: StandaloneRequest, _ channel: ControlChannel) throws(DesktopError) {
        if let path = request.path, path.path(below: mountpoint) != nil {
            return try channel.send(
                StandaloneState(
                    problem: "A file of this mount cannot be named here: copy it to another place."))
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
                try channel.send(state)
                if state.isOver { return }
            } while !channel.isAbandoned(within: .milliseconds(100))
        } catch {
            BlockingTask.value { await transfer.withdraw() }
            throw error
        }
        BlockingTask.value { await transfer.withdraw() }
    }

    private func answer(_ request: ControlRequest, _ channel: ControlChannel) throws(DesktopError) {
        guard let message = request.composedMessage(stagingFolder: core.stagingFolder) else {
            throw DesktopError.malformed
        }
        let (core, folders, whenSent, sends) = (core, folders, whenSent, sends)
        try channel.send(
            BlockingTask.value {
                await sends.withLock(message.id) {
                    // A client that reported a failure must not find the message sent later.
                    guard !channel.isAbandoned else {
                        unlink(message.source.path)
                        return ControlReply(problem: DesktopError.hungUp.sentence)
                    }
                    return await Self.send(message, to: request.chat, core, folders, whenSent)
                }
            })
    }

    private func answer(_ request: TextRequest, _ channel: ControlChannel) throws(DesktopError) {
        guard let text = request.composed else { throw DesktopError.malformed }
        let (core, folders, sends) = (core, folders, sends)
        try channel.send(
            BlockingTask.value {
                await sends.withLock(text.id) {
                    guard !channel.isAbandoned else {
                        return ControlReply(problem: DesktopError.hungUp.sentence)
                    }
                    return await request.reply(text, from: core, naming: folders)
                }
            })
    }

    private static func send(
        _ message: ComposedMessage, to name: String, _ core: any ChatCore, _ folders: MountedFolders,
        _ whenSent: @Sendable (ChatItem) async -> Void
    ) async -> ControlReply {
        do throws(ChatError) {
            let chat = try await folders.chats(of: core).chat(name)
            if let refused = chat.chat.sendingRefused { return ControlReply(problem: refused) }
            let item = try await core.send(message, to: chat.reference)
            await whenSent(item)
            // A repetition does not need the file.
            unlink(message.source.path)
            return ControlReply(item: item.id.rawValue)
        } catch {
            // The client stages the file again before it repeats the request.
            if error.code == .sendingUndecided { unlink(message.source.path) }
            return ControlReply(error)
        }
    }
}

extension SendingInquiry {
    fileprivate func reply(
        from core: any ChatCore, naming: some FolderNaming, removesMetadata: Bool, markKey: SecretBytes?
    ) async -> SendingTermsReply {
        do throws(ChatError) {
            let chat = try await naming.chats(of: core).chat(destination)
            if let refused = chat.chat.sendingRefused { return SendingTermsReply(problem: refused) }
            let largest = core.limits.maxFileSize(in: chat.reference)
            return SendingTermsReply(
                terms: SendingTerms(
                    chat: chat.reference.description, largest: largest, stagingFolder: core.stagingFolder,
                    removesMetadata: removesMetadata ? true : nil, markKey: markKey))
        } catch {
            return SendingTermsReply(problem: error.sentence)
        }
    }
}
