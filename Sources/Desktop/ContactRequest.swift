import Base
import ChatCore

/// A request about contacts, addresses and connections. The process that has the profile carries it out: the command
/// itself, or the daemon of its mount.
public enum ContactRequest: ControlRequest {
    public typealias Answer = ContactAnswer

    /// Create a one-time link.
    case invite
    /// Connect through a link, which is a secret.
    case accept(String)
    /// Report the contact of a connection. Waits some seconds for one to connect; the client repeats the request.
    case look(Int64)
    // A contact is named as the user typed it (`NamedChats`).
    /// Report the security code, by which both sides detect an interceptor, and whether it was verified.
    case verify(String)
    /// Record that the code was compared.
    case mark(String, verifiedBy: String)
    /// Remove that record.
    case removeVerification(String)
    /// Refuse, or permit, sending to an unverified contact.
    case requireVerification(String, Bool)
    /// List the profile's connections after one.
    case connections(after: Int64)
    case deleteConnection(Int64)
    /// Negotiate new keys with the contact.
    case renew(String)
    /// Move the receiving queue to another server.
    case move(String)
    /// Create the address, or change how its requests are handled.
    case createAddress(RequestAcceptance?)
    case showAddress
    case deleteAddress
    /// List pending requests.
    case requests
    case acceptRequest(Int64)
    case rejectRequest(Int64)

    public var method: ControlMethod { .contacts }

    /// Carries out the request.
    /// - Throws: `.noSuchChat` if no contact or several match, `.invalidCommand` if there is no address to show, and
    ///   the errors of `ContactMaking`, `AddressKeeping` and `FolderNaming`.
    public func carryOut(
        on core: any ContactKeeping & ChatReading,
        naming: some FolderNaming
    ) async throws(ChatError) -> ContactAnswer {
        switch self {
        case .invite:
            let invitation = try await core.invite()
            return ContactAnswer(connection: invitation.connection, link: invitation.link)
        case .accept(let link): return ContactAnswer(connection: try await core.accept(link))
        case .look(let connection):
            guard let chat = try await Self.chat(of: connection, on: core) else { return ContactAnswer() }
            let name = try await naming.chats(of: core)[chat.reference]?.name
            return ContactAnswer(name: name ?? "\(chat.reference)", chat: "\(chat.reference)")
        case .verify(let name):
            let chat = try await Self.contact(name, of: core, naming)
            let security = try await core.security(of: chat.reference)
            return ContactAnswer(name: chat.name, security)
        case .mark(let name, let code):
            let chat = try await Self.contact(name, of: core, naming)
            try await core.verify(chat.reference, code: code)
            return ContactAnswer(name: chat.name)
        case .removeVerification(let name):
            let chat = try await Self.contact(name, of: core, naming)
            try await core.verify(chat.reference, code: nil)
            return ContactAnswer(name: chat.name)
        case .requireVerification(let name, let isRequired):
            let chat = try await Self.contact(name, of: core, naming)
            try await core.requireVerification(of: chat.reference, isRequired)
            return ContactAnswer(name: chat.name, try await core.security(of: chat.reference))
        case .connections(let number):
            return ContactAnswer(connections: try await Self.list(after: number, of: core, naming))
        case .deleteConnection(let number):
            try await core.deleteConnection(number)
            return ContactAnswer()
        case .renew(let name):
            let chat = try await Self.contact(name, of: core, naming)
            try await core.renewKeys(of: chat.reference)
            return ContactAnswer(name: chat.name)
        case .move(let name):
            let chat = try await Self.contact(name, of: core, naming)
            try await core.moveQueue(of: chat.reference)
            return ContactAnswer(name: chat.name)
        case .createAddress(let acceptance):
            return ContactAnswer(try await core.createAddress(acceptance))
        case .showAddress:
            guard let address = try await core.address() else { throw .noAddress }
            return ContactAnswer(address)
        case .deleteAddress:
            try await core.deleteAddress()
            return ContactAnswer()
        case .requests: return ContactAnswer(requests: try await Self.list(of: core, naming))
        case .acceptRequest(let number):
            return ContactAnswer(connection: try await core.acceptRequest(number))
        case .rejectRequest(let number):
            try await core.rejectRequest(number)
            return ContactAnswer()
        }
    }

    /// Lists requests. Inviting contacts appear under the user's names for them, because strangers may use the same
    /// names.
    private static func list(
        of core: any AddressKeeping & ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> [WaitingRequest] {
        var requests = try await core.requests()
        guard requests.contains(where: { $0.chat != nil }) else { return requests }
        let chats = try await naming.chats(of: core)
        for place in requests.indices {
            let chat = requests[place].chat.flatMap { ChatReference($0) }.flatMap { chats[$0] }
            if let chat { requests[place].name = chat.name }
        }
        return requests
    }

    /// Maximum number of connections per reply, which must fit into a line.
    private static let maxConnections = 100

    /// Lists connections under the user's names for the chats.
    private static func list(
        after number: Int64, of core: any ConnectionListing & ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> [ListedConnection] {
        var found = try await core.connections(after: number, count: maxConnections)
        guard found.contains(where: { $0.chat != nil }) else { return found }
        let chats = try await naming.chats(of: core)
        for place in found.indices {
            guard let reference = found[place].chat else { continue }
            // Never a name that the peer chose.
            found[place].name = ChatReference(reference).flatMap { chats[$0] }?.name ?? reference
        }
        return found
    }

    private static func contact(
        _ name: String, of core: any ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> NamedChat {
        try await naming.chats(of: core).only(.contact).chat(name)
    }

    /// Returns the chat of a connection, waiting some seconds for the peer to connect.
    private static func chat(
        of connection: Int64, on core: any ContactMaking & ChatReading
    ) async throws(ChatError) -> Chat? {
        let events = core.events()
        if let chat = try await core.contact(of: connection) { return chat }
        let waiting = Task { () -> Result<Chat?, ChatError> in
            for await event in events {
                guard case .chatUpdated = event else { continue }
                do throws(ChatError) {
                    if let chat = try await core.contact(of: connection) { return .success(chat) }
                } catch {
                    return .failure(error)
                }
            }
            return .success(nil)
        }
        defer { waiting.cancel() }
        return try await waiting.result(within: .seconds(5))?.get().get()
    }
}

extension ContactRequest {
    /// The members on the line.
    private struct Members: Codable {
        enum Action: String, Codable {
            case invite, accept, look
            case verify, markVerified, removeVerification, requireVerification, allowUnverified
            case connections, deleteConnection, renew, move
            case createAddress, showAddress, deleteAddress, requests, acceptRequest, rejectRequest
        }

        var action: Action
        var link: String?
        var connection: Int64?
        var code: String?
        var chat: String?
        var acceptance: RequestAcceptance?
        var request: Int64?
    }

    private var members: Members {
        switch self {
        case .invite: Members(action: .invite)
        case .accept(let link): Members(action: .accept, link: link)
        case .look(let connection): Members(action: .look, connection: connection)
        case .verify(let chat): Members(action: .verify, chat: chat)
        case .mark(let chat, let code): Members(action: .markVerified, code: code, chat: chat)
        case .removeVerification(let chat): Members(action: .removeVerification, chat: chat)
        case .requireVerification(let chat, true): Members(action: .requireVerification, chat: chat)
        case .requireVerification(let chat, false): Members(action: .allowUnverified, chat: chat)
        case .connections(let last): Members(action: .connections, connection: last)
        case .deleteConnection(let connection): Members(action: .deleteConnection, connection: connection)
        case .renew(let chat): Members(action: .renew, chat: chat)
        case .move(let chat): Members(action: .move, chat: chat)
        case .createAddress(let acceptance): Members(action: .createAddress, acceptance: acceptance)
        case .showAddress: Members(action: .showAddress)
        case .deleteAddress: Members(action: .deleteAddress)
        case .requests: Members(action: .requests)
        case .acceptRequest(let request): Members(action: .acceptRequest, request: request)
        case .rejectRequest(let request): Members(action: .rejectRequest, request: request)
        }
    }

    public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

    public init(from decoder: any Decoder) throws {
        let members = try Members(from: decoder)
        let (chat, connection) = (members.chat ?? "", members.connection ?? 0)
        switch members.action {
        case .invite: self = .invite
        case .accept: self = .accept(members.link ?? "")
        case .look: self = .look(connection)
        case .verify: self = .verify(chat)
        case .markVerified: self = .mark(chat, verifiedBy: members.code ?? "")
        case .removeVerification: self = .removeVerification(chat)
        case .requireVerification: self = .requireVerification(chat, true)
        case .allowUnverified: self = .requireVerification(chat, false)
        case .connections: self = .connections(after: connection)
        case .deleteConnection: self = .deleteConnection(connection)
        case .renew: self = .renew(chat)
        case .move: self = .move(chat)
        case .createAddress: self = .createAddress(members.acceptance)
        case .showAddress: self = .showAddress
        case .deleteAddress: self = .deleteAddress
        case .requests: self = .requests
        case .acceptRequest: self = .acceptRequest(members.request ?? 0)
        case .rejectRequest: self = .rejectRequest(members.request ?? 0)
        }
    }
}
