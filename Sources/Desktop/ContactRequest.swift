import Base
import ChatCore

/// A request about contacts, addresses and connections. The process that has the profile carries it out: the command
/// itself, or the daemon of its mount.
public struct ContactRequest: ControlRequest {
    public typealias Answer = ContactAnswer

    public enum Action: String, Codable, Hashable, Sendable {
        /// Create a one-time link.
        case invite
        /// Connect through a link.
        case accept
        /// Report the contact of an invitation. Waits some seconds for one to connect; the client repeats the request.
        case look
        /// Report the security code, by which both sides detect an interceptor, and whether it was verified.
        case verify
        /// Record that the code was compared.
        case markVerified
        /// Remove that record.
        case removeVerification
        /// Refuse, or permit, sending to an unverified contact.
        case requireVerification
        case allowUnverified
        /// List the profile's connections.
        case connections
        case deleteConnection
        /// Negotiate new keys with the contact.
        case renew
        /// Move the receiving queue to another server.
        case move
        /// Create the address, or change how its requests are handled.
        case createAddress
        case showAddress
        case deleteAddress
        /// List pending requests.
        case requests
        case acceptRequest
        case rejectRequest
    }

    public var action: Action
    /// For `accept`: the link. A secret.
    public var link: String?
    /// For `look` and `deleteConnection`: the connection. For `connections`: the last connection already received.
    public var connection: Int64?
    /// For `markVerified`: the compared code.
    public var code: String?
    /// For requests about one contact: its name as the user typed it (`NamedChats`).
    public var chat: String?
    /// For `createAddress`.
    public var acceptance: RequestAcceptance?
    /// For `acceptRequest` and `rejectRequest`.
    public var request: Int64?

    public var method: ControlMethod { .contacts }

    public static let invite = ContactRequest(action: .invite)
    public static func accept(_ link: String) -> ContactRequest {
        ContactRequest(action: .accept, link: link)
    }
    public static func look(_ connection: Int64) -> ContactRequest {
        ContactRequest(action: .look, connection: connection)
    }

    public static func verify(_ chat: String) -> ContactRequest {
        ContactRequest(action: .verify, chat: chat)
    }

    public static func mark(_ chat: String, verifiedBy code: String) -> ContactRequest {
        var request = ContactRequest(action: .markVerified, chat: chat)
        request.code = code
        return request
    }

    public static func removeVerification(_ chat: String) -> ContactRequest {
        ContactRequest(action: .removeVerification, chat: chat)
    }

    public static func requireVerification(_ chat: String, _ isRequired: Bool) -> ContactRequest {
        ContactRequest(action: isRequired ? .requireVerification : .allowUnverified, chat: chat)
    }

    public static func connections(after number: Int64) -> ContactRequest {
        ContactRequest(action: .connections, connection: number)
    }

    public static func deleteConnection(_ number: Int64) -> ContactRequest {
        ContactRequest(action: .deleteConnection, connection: number)
    }

    public static func renew(_ chat: String) -> ContactRequest {
        ContactRequest(action: .renew, chat: chat)
    }

    public static func move(_ chat: String) -> ContactRequest {
        ContactRequest(action: .move, chat: chat)
    }

    public static func createAddress(_ acceptance: RequestAcceptance?) -> ContactRequest {
        ContactRequest(action: .createAddress, acceptance: acceptance)
    }
    public static let showAddress = ContactRequest(action: .showAddress)
    public static let deleteAddress = ContactRequest(action: .deleteAddress)
    public static let requests = ContactRequest(action: .requests)
    public static func acceptRequest(_ number: Int64) -> ContactRequest {
        ContactRequest(action: .acceptRequest, request: number)
    }
    public static func rejectRequest(_ number: Int64) -> ContactRequest {
        ContactRequest(action: .rejectRequest, request: number)
    }

    /// Carries out the request.
    /// - Throws: `.noSuchChat` if no contact or several match, `.invalidCommand` if there is no address to show, and
    ///   the errors of `ContactMaking`, `AddressKeeping` and `FolderNaming`.
    public func carryOut(
        on core: any ContactKeeping & ChatReading,
        naming: some FolderNaming
    ) async throws(ChatError) -> ContactAnswer {
        switch action {
        case .invite:
            let invitation = try await core.invite()
            return ContactAnswer(connection: invitation.connection, link: invitation.link)
        case .accept: return ContactAnswer(connection: try await core.accept(link ?? ""))
        case .look:
            guard let chat = try await Self.chat(of: connection ?? 0, on: core) else {
                return ContactAnswer()
            }
            let name = try await naming.chats(of: core)[chat.reference]?.name
            return ContactAnswer(name: name ?? "\(chat.reference)", chat: "\(chat.reference)")
        case .verify:
            let chat = try await contact(of: core, naming)
            let security = try await core.security(of: chat.reference)
            return ContactAnswer(name: chat.name, security)
        case .markVerified:
            let chat = try await contact(of: core, naming)
            try await core.verify(chat.reference, code: code ?? "")
            return ContactAnswer(name: chat.name)
        case .removeVerification:
            let chat = try await contact(of: core, naming)
            try await core.verify(chat.reference, code: nil)
            return ContactAnswer(name: chat.name)
        case .requireVerification, .allowUnverified:
            let chat = try await contact(of: core, naming)
            try await core.requireVerification(
                of: chat.reference, action == .requireVerification)
            return ContactAnswer(name: chat.name, try await core.security(of: chat.reference))
        case .connections:
            return ContactAnswer(connections: try await connections(of: core, naming))
        case .deleteConnection:
            try await core.deleteConnection(connection ?? 0)
            return ContactAnswer()
        case .renew:
            let chat = try await contact(of: core, naming)
            try await core.renewKeys(of: chat.reference)
            return ContactAnswer(name: chat.name)
        case .move:
            let chat = try await contact(of: core, naming)
            try await core.moveQueue(of: chat.reference)
            return ContactAnswer(name: chat.name)
        case .createAddress: return ContactAnswer(try await core.createAddress(acceptance))
        case .showAddress:
            guard let address = try await core.address() else { throw .noAddress }
            return ContactAnswer(address)
        case .deleteAddress:
            try await core.deleteAddress()
            return ContactAnswer()
        case .requests: return ContactAnswer(requests: try await requests(of: core, naming))
        case .acceptRequest: return ContactAnswer(connection: try await core.acceptRequest(request ?? 0))
        case .rejectRequest:
            try await core.rejectRequest(request ?? 0)
            return ContactAnswer()
        }
    }

    /// Lists requests. Inviting contacts appear under the user's names for them, because strangers may use the same
    /// names.
    private func requests(
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
    private func connections(
        of core: any ConnectionListing & ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> [ListedConnection] {
        var found = try await core.connections(after: connection ?? 0, count: Self.maxConnections)
        guard found.contains(where: { $0.chat != nil }) else { return found }
        let chats = try await naming.chats(of: core)
        for place in found.indices {
            guard let reference = found[place].chat else { continue }
            // Never a name that the peer chose.
            found[place].name = ChatReference(reference).flatMap { chats[$0] }?.name ?? reference
        }
        return found
    }

    private func contact(
        of core: any ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> NamedChat {
        try await naming.chats(of: core).only(.contact).chat(chat ?? "")
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

/// The result of a `ContactRequest`.
public struct ContactAnswer: Codable, Hashable, Sendable {
    /// The connection to pass to `look`.
    public var connection: Int64?
    /// The new link. A secret.
    public var link: String?
    /// Name of the chat with the peer that connected.
    public var name: String?
    /// Reference of that chat.
    public var chat: String?
    /// Absolute path of the chat's folder; nil without a mount.
    public var folder: String?
    /// For `verify`.
    public var code: String?
    public var protection: ContactProtection?
    public var verification: ContactVerification?
    public var isVerificationRequired: Bool?
    /// For the address.
    public var acceptance: RequestAcceptance?
    /// A sentence that tells why requests cannot reach the address.
    public var addressProblem: String?
    /// Pending requests.
    public var requests: [WaitingRequest]?
    /// One page; empty after the last one.
    public var connections: [ListedConnection]?
}

extension ContactAnswer {
    fileprivate init(name: String, _ security: ContactSecurity?) {
        self.init(
            name: name, code: security?.code, protection: security?.protection,
            verification: security?.verification, isVerificationRequired: security?.isVerificationRequired)
    }

    fileprivate init(_ address: ContactAddress) {
        self.init(
            link: address.link, acceptance: address.acceptance, addressProblem: address.problem)
    }
}
