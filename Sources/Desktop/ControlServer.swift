import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// The daemon's end of the control socket: sends files for `chatfs send` while the profile is mounted, answers requests
/// about the cache, and does with chats, and with files that belong to none, what commands ask for.
///
/// Only processes of the same user are heard, at most 16 at once, each on a thread of its own (`SocketListener`).
public final class ControlServer: Sendable {
    private static let maxConnections = 16
    /// How long a client may be silent.
    static let timeout = Duration.seconds(30)

    /// Set once, at the end of `init`: whoever connects needs all else.
    private let listener = Lock<SocketListener?>(nil)
    private let core: any ChatCore
    private let mountpoint: String
    private let removesMetadata: Bool
    private let markKey: SecretBytes?
    private let transfers = Lock(Transfers())
    private let folders: MountedFolders
    private let whenSent: @Sendable (ChatItem) async -> Void
    private let answerCacheRequest: @Sendable (CacheRequest) async -> CacheAnswer
    private let answerKeepRequest: @Sendable (KeepRequest) async -> KeepAnswer
    private let answerFreeRequest: @Sendable (FreeRequest) async -> FreeAnswer
    private let answerDeleteRequest: @Sendable (DeleteRequest) async -> DeleteAnswer
    /// By the identifier of a message: a repetition finds what became of the first.
    private let sends = AsyncKeyedMutex<String>()

    /// Listens from now on.
    /// - Parameters:
    ///   - profileFolder: the profile's own folder, whose lock this process holds.
    ///   - mountpoint: of this process, which must never wait for its own mount. Absolute, without symbolic links.
    ///   - removesMetadata: who sends is told to remove metadata from pictures before.
    ///   - markKey: of the marks of requests (`UnansweredRequests.key`).
    ///   - folderName: which folder of the mount is a chat's; nil while there is none.
    ///   - whenSent: given each item that was sent, since the core tells only who sent it. The sender is
    ///     answered when it returns.
    ///   - answerCacheRequest: does what is requested of the cache, within a second or so.
    ///   - answerKeepRequest: the same of the rules about what is kept.
    ///   - answerFreeRequest: deletes copies of files.
    ///   - answerDeleteRequest: finds and deletes messages with a file.
    /// - Throws: `.system` where the socket cannot be made.
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
        do throws(SystemError) {
            let opened = try SocketListener(
                in: ControlSocket.openFolder(profileFolder), named: ControlSocket.name,
                threads: ("control", "control-peer"), limit: Self.maxConnections
            ) { [weak self] in self?.converse(ControlChannel($0, timeout: Self.timeout)) }
            listener.withLock { $0 = opened }
        } catch {
            throw DesktopError(error)
        }
    }

    /// Hears nobody any longer. Conversations that are going on end by themselves.
    public func stop() { listener.withLock { $0 }?.stop() }

    /// Ends the transfers that commands wait for. After `stop`, while the core can still take back what they left.
    public func cancelTransfers() async {
        let end = ContinuousClock.now + .seconds(10)
        for transfer in transfers.withLock({ Array($0.carriedOut.values) }) { await transfer.cancel() }
        // Whoever began one at this moment finds the end of the server, and cancels it itself.
        while transfers.withLock({ $0.count > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private struct Transfers {
        /// Connections that have one, those included where it is just being begun.
        var count = 0
        var carriedOut: [ObjectIdentifier: StandaloneTransfer] = [:]
    }

    /// Requests of one connection, until it ends.
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
            // An answer that is longer than a line.
            case .refused:
                try? channel.send(ControlReply(problem: "There is too much to tell of it at once."))
            default: break
            }
        }
    }

    /// The path of a chat's folder.
    private func folder(of chat: ChatReference) -> String? {
        let name = BlockingTask.value { [folders] in await folders.names(of: [chat])[chat] }
        return name.map { "\(mountpoint)/\($0)" }
    }

    /// Carries a transfer out for as long as its asker listens, and tells how it stands.
    private func transfer(_ request: StandaloneRequest, _ channel: ControlChannel) throws(DesktopError) {
        if let path = request.path, path.path(below: mountpoint) != nil {
            return try channel.send(
                StandaloneState(
                    problem: "A file of this mount cannot be named here: copy it to another place."))
        }
        transfers.withLock { $0.count += 1 }
        defer { transfers.withLock { $0.count -= 1 } }
        let transfer = BlockingTask.value { [core] in await StandaloneTransfer.begin(request, on: core) }
        transfers.withLock { $0.carriedOut[ObjectIdentifier(transfer)] = transfer }
        defer { transfers.withLock { $0.carriedOut[ObjectIdentifier(transfer)] = nil } }
        if listener.withLock({ $0 })?.isStopped == true { BlockingTask.value { await transfer.cancel() } }
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
                    // Who was told that it failed must not find it sent later.
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
            // Of a repetition the core needs nothing.
            unlink(message.source.path)
            return ControlReply(item: item.id.rawValue)
        } catch {
            // Who asks again stages it anew.
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
