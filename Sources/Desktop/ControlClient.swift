import Base
import ChatCore
import Glibc
import Posix
import Synchronization

/// A command's end of a socket of a mounted profile. All calls block; one thread at a time.
///
/// Beside the listed errors, every request throws `.noAnswer`, `.malformed`, `.system`, and `.refused` for data that
/// exceeds a line.
public final class ControlClient: Sendable {
    /// Timeout of requests that need nothing but the daemon.
    private static let timeout = Duration.seconds(20)

    /// Directory of the socket: that of the mounted profile, except for `init(path:)`.
    public let profileFolder: String
    let channel: ControlChannel
    private let lastID = Atomic<Int64>(0)
    private let received = Lock<ControlGreeting?>(nil)

    private init(_ socket: OpenFile, in folder: String) {
        profileFolder = folder
        channel = ControlChannel(socket, timeout: .seconds(120))
    }

    /// The daemon's first line. The first request waits for it, so that `connect` never waits for the daemon.
    /// - Throws: `.malformed` for another protocol version, `.noAnswer`, `.system`.
    public var greeting: ControlGreeting {
        get throws(DesktopError) {
            if let greeting = received.withLock({ $0 }) { return greeting }
            let greeting = try channel.receive(ControlGreeting.self, timeout: Self.timeout)
            guard greeting.chatfs == ControlProtocol.version else { throw DesktopError.malformed }
            received.withLock { $0 = greeting }
            return greeting
        }
    }

    /// Connects to the socket for programs, and waits for the daemon.
    /// - Parameter path: Path of the socket from `status.json`.
    /// - Throws: `.system` if no process listens, `.malformed` for another protocol version, `.noAnswer`.
    public convenience init(path: String) throws(DesktopError) {
        let folder = path.parentPath
        guard let name = path.lastPathName,
            let socket = try ControlSocket.connect(in: ControlSocket.openFolder(folder), named: name)
        else { throw DesktopError(SystemError(code: ECONNREFUSED, operation: "reach the mount's process")) }
        self.init(socket, in: folder)
        _ = try greeting
    }

    /// Connects to the socket for commands. Returns nil if the profile is not mounted or its process is ending.
    /// - Throws: `.system`.
    public static func connect(profileFolder: String) throws(DesktopError) -> ControlClient? {
        let folder = try ControlSocket.openFolder(profileFolder)
        guard let socket = try ControlSocket.connect(in: folder) else { return nil }
        return ControlClient(socket, in: profileFolder)
    }

    /// Connects to the daemon of an official core's mounted profile. A core has one active profile, and its directory
    /// has one subdirectory for each profile that ever was active.
    /// - Throws: `.system`; a missing directory is no error.
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

    /// Sends a request and returns its result. `CacheRequest` is answered within about a second, even while a file is
    /// downloading; the caller then repeats it.
    /// - Throws: `.refused` with the daemon's reason; see the class for others.
    public func ask<Request: ControlRequest>(_ request: Request) throws(DesktopError) -> Request.Answer {
        try result(to: begin(request))
    }

    /// Sends a request and returns its number.
    func begin(_ request: some ControlRequest) throws(DesktopError) -> Int64 {
        _ = try greeting
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        try channel.send(ControlCall(id: id, request: request))
        return id
    }

    /// Receives a result of the request of this number.
    private func result<Answer: Codable & Hashable & Sendable>(
        to id: Int64, timeout: Duration? = nil
    ) throws(DesktopError) -> Answer {
        switch try channel.receive(Answer.self, to: id, timeout: timeout) {
        case .success(let answer): return answer
        case .failure(let error): throw DesktopError(reply: error)
        }
    }

    /// Returns the terms for sending a file to a chat.
    /// - Parameter chat: A name for `NamedChats`.
    /// - Throws: `.refused` with the daemon's reason; see the class for others.
    public func terms(for chat: String) throws(DesktopError) -> SendingTerms {
        try result(to: begin(SendingInquiry(chat: chat)), timeout: Self.timeout)
    }

    /// Sends a message whose file lies in the profile's staging directory. Returns when the message is in the daemon's
    /// store; its upload may continue.
    ///
    /// Hanging up before the daemon begins cancels the request.
    /// - Parameter chat: A name for `NamedChats`.
    /// - Throws: `.refused` if it was not sent; `.unsure` if the core may have sent it, so that a repetition may send
    ///   it twice. After any other error the daemon may have it, and the same message may safely be sent again.
    public func send(_ message: ComposedMessage, to chat: String) throws(DesktopError) {
        guard try ask(FileRequest(message, to: chat)).item != nil else { throw DesktopError.malformed }
    }

    /// Sends a text. Returns when it is in the daemon's store.
    /// - Parameter chat: A name for `NamedChats`.
    /// - Throws: As for a file.
    public func send(_ text: ComposedText, to chat: String) throws(DesktopError) {
        _ = try ask(TextRequest(text: text.text, message: text.id, chat: chat))
    }

    /// Lists or changes chats.
    /// - Returns: The result of `ChatManagementRequest.carryOut`; for a list, all names.
    /// - Throws: `.refused` with the daemon's reason; see the class for others.
    public func manage(_ request: ChatManagementRequest) throws(DesktopError) -> [String] {
        var names: [String] = []
        while true {
            var request = request
            if request.action == .list { request.skipped = names.count }
            let part = try ask(request)
            names += part
            if request.action != .list || part.count < ChatManagementRequest.maxNames { return names }
        }
    }

    /// Sends a request about the folder of links.
    /// - Returns: The result of `LinkRequest.carryOut`; for a list, all entries.
    /// - Throws: `.refused` with the daemon's reason; see the class for others.
    public func link(_ request: LinkRequest) throws(DesktopError) -> [LinkDescription] {
        var links: [LinkDescription] = []
        while true {
            var request = request
            if request.action == .list { request.before = links.last?.number }
            let part = try ask(request)
            links += part
            if request.action != .list || part.isEmpty { return links }
        }
    }

    /// Transfers a file without a chat. Blocks until the transfer ends; hanging up cancels it.
    /// - Parameter told: Receives the progress several times a second. An error that it throws ends the transfer.
    /// - Throws: `.refused` with the daemon's reason; see the class for others; errors of `told`.
    public func transfer(
        _ request: StandaloneRequest, told: (StandaloneState) throws -> Void
    ) throws -> StandaloneState {
        let id = try begin(request)
        while true {
            let state: StandaloneState = try result(to: id, timeout: Self.timeout)
            if state.isOver { return state }
            try told(state)
        }
    }

    /// Like `transfer`, for a task. Cancelling the task hangs up and returns at once, even if the daemon is silent.
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
