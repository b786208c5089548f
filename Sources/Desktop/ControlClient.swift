import Base
import ChatCore
import Glibc
import Posix

/// A command's end of the control socket of a mounted profile. All calls block; one thread at a time.
///
/// Every request throws, beside what it names: `.noAnswer`, `.malformed`, `.system`, and `.refused` for more than a line
/// holds.
///
///     if let daemon = try ControlClient.connect(profileFolder: folder) {
///         try daemon.send(message, to: "bob")
///     }
public final class ControlClient: Sendable {
    /// How long the daemon may take for what needs nobody else.
    private static let timeout = Duration.seconds(20)

    /// The folder of the profile that is mounted.
    public let profileFolder: String
    private let channel: ControlChannel

    private init(_ channel: ControlChannel, profileFolder: String) {
        self.channel = channel
        self.profileFolder = profileFolder
    }

    /// nil when the profile is not mounted, or its process has just begun to leave.
    /// - Throws: `.system`.
    public static func connect(profileFolder: String) throws(DesktopError) -> ControlClient? {
        do throws(SystemError) {
            let folder = try ControlSocket.openFolder(profileFolder)
            guard let socket = try ControlSocket.connect(in: folder) else { return nil }
            return ControlClient(
                ControlChannel(socket, timeout: .seconds(120)), profileFolder: profileFolder)
        } catch {
            throw DesktopError(error)
        }
    }

    /// The daemon of whichever profile of an official core is mounted: a core has one active profile, and its
    /// folder one for each that ever was.
    /// - Throws: `.system`, but not where there is no such folder.
    public static func connect(coreFolder: String) throws(DesktopError) -> ControlClient? {
        let names: [String]
        do throws(SystemError) {
            names = try PrivateFolder.names(in: OpenFile(coreFolder, flags: O_RDONLY | O_DIRECTORY))
        } catch {
            if error.code == ENOENT { return nil }
            throw DesktopError(error)
        }
        for name in names.sorted() where name.hasPrefix("profile-") {
            if let client = try connect(profileFolder: coreFolder + "/" + name) { return client }
        }
        return nil
    }

    /// How a file may be sent into a chat.
    /// - Parameter chat: as `NamedChats` takes it.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func terms(for chat: String) throws(DesktopError) -> SendingTerms {
        try channel.send(SendingInquiry(destination: chat))
        let reply = try channel.receive(SendingTermsReply.self, timeout: Self.timeout)
        if let problem = reply.problem { throw DesktopError(.refused, problem) }
        guard let terms = reply.terms else { throw DesktopError.malformed }
        return terms
    }

    /// Has the daemon send a message whose file is staged in the profile's staging folder. Returns when
    /// the message is in the daemon's store; an upload may still be going on there.
    ///
    /// Who hangs up before the daemon has begun has it do nothing.
    /// - Parameter chat: as `NamedChats` takes it.
    /// - Throws: `.refused` when it was not sent; `.unsure` when that cannot be known: sent again it may be there
    ///   twice. After any other error, as of every request, the daemon may have it, and the same message may be
    ///   sent again.
    public func send(_ message: ComposedMessage, to chat: String) throws(DesktopError) {
        try channel.send(ControlRequest(message, to: chat))
        let reply = try channel.receive(ControlReply.self)
        try reply.check()
        guard reply.item != nil else { throw DesktopError.malformed }
    }

    /// Has the daemon send a text. Returns when it is in the daemon's store.
    /// - Parameter chat: as `NamedChats` takes it.
    /// - Throws: as of a file.
    public func send(_ text: ComposedText, to chat: String) throws(DesktopError) {
        try channel.send(TextRequest(say: text.text, message: text.id, to: chat))
        try channel.receive(ControlReply.self).check()
    }

    /// Asks something of the cache. Returns after about a second at the latest, also when a file is still
    /// coming: then it is for the caller to ask again.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func ask(_ request: CacheRequest) throws(DesktopError) -> CacheAnswer {
        try channel.send(request)
        let answer = try channel.receive(CacheAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer
    }

    /// Shows or changes the rules about what is kept.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func ask(_ request: KeepRequest) throws(DesktopError) -> [KeepAnswer.Rule] {
        try channel.send(request)
        let answer = try channel.receive(KeepAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        guard let rules = answer.rules else { throw DesktopError.malformed }
        return rules
    }

    /// Has the daemon delete copies of files whose messages stay.
    /// - Returns: those that went.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func ask(_ request: FreeRequest) throws(DesktopError) -> [FileID] {
        try channel.send(request)
        let answer = try channel.receive(FreeAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer.freed.map { FileID($0) }
    }

    /// Has the daemon find or delete messages with a file.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func ask(_ request: DeleteRequest) throws(DesktopError) -> DeleteAnswer {
        try channel.send(request)
        let answer = try channel.receive(DeleteAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer
    }

    /// Has the daemon do something with chats.
    /// - Returns: as `ManagingRequest.carryOut`; of a list all names.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func manage(_ request: ManagingRequest) throws(DesktopError) -> [String] {
        var names: [String] = []
        while true {
            var request = request
            if request.manage == .list { request.skipped = names.count }
            try channel.send(request)
            let reply = try channel.receive(ManagingReply.self)
            if let problem = reply.problem { throw DesktopError(.refused, problem) }
            guard let part = reply.names else { throw DesktopError.malformed }
            names += part
            if request.manage != .list || part.count < ManagingRequest.maxNames { return names }
        }
    }

    /// Has the daemon do a step of becoming a contact.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func ask(_ request: ContactRequest) throws(DesktopError) -> ContactAnswer {
        try channel.send(request)
        let answer = try channel.receive(ContactAnswer.self)
        if let problem = answer.problem { throw DesktopError(.refused, problem) }
        return answer
    }

    /// Has the daemon do something in the folder of links.
    /// - Returns: as `LinkRequest.carryOut`; of a list all entries.
    /// - Throws: `.refused` with the daemon's reason; as every request.
    public func link(_ request: LinkRequest) throws(DesktopError) -> [LinkDescription] {
        var links: [LinkDescription] = []
        while true {
            var request = request
            if request.linking == .list { request.before = links.last?.number }
            try channel.send(request)
            let reply = try channel.receive(LinkReply.self)
            if let problem = reply.problem { throw DesktopError(.refused, problem) }
            guard let part = reply.links else { throw DesktopError.malformed }
            links += part
            if request.linking != .list || part.isEmpty { return links }
        }
    }

    /// Has the daemon transfer a file that belongs to no chat. Blocks until that is over; who hangs up before ends
    /// it.
    /// - Parameter told: how it stands, several times a second. What it throws ends the transfer.
    /// - Throws: `DesktopError` `.refused` with the daemon's reason, and as every request; what `told` throws.
    public func transfer(
        _ request: StandaloneRequest, told: (StandaloneState) throws -> Void
    ) throws -> StandaloneState {
        try channel.send(request)
        while true {
            let state = try channel.receive(StandaloneState.self, timeout: Self.timeout)
            if let problem = state.problem { throw DesktopError(.refused, problem) }
            if state.isOver { return state }
            try told(state)
        }
    }

    /// As `transfer`, from a task: cancelled, it hangs up, and what waits for the daemon ends at once, also where that
    /// is silent.
    public func transferring(
        _ request: StandaloneRequest, told: @escaping @Sendable (StandaloneState) throws -> Void
    ) async throws -> StandaloneState {
        try await withTaskCancellationHandler {
            try await ThreadPool.shared.run { try self.transfer(request, told: told) }
        } onCancel: {
            channel.hangUp()
        }
    }
}
