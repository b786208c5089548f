import Base
import ChatCore

/// Becoming a contact: done by the process that has the profile, be it the command itself or, asked with one line of
/// JSON, the daemon of its mount.
public struct ContactRequest: Codable, Hashable, Sendable {
    public enum Step: String, Codable, Hashable, Sendable {
        /// Make a link.
        case invite
        /// Use one.
        case accept
        /// Look who has connected, for some seconds while nobody has: who asks asks again.
        case look
        /// Tell the digits by which both sides know that nobody is in between, and whether they were compared.
        case verify
        /// They were compared.
        case markVerified
        /// They count as not compared.
        case removeVerification
        /// Send nothing to who is not verified, or whatever they are.
        case requireVerification
        case allowUnverified
        /// List every connection of the profile.
        case connections
        case deleteConnection
        /// Have both sides agree on new keys.
        case renew
        /// Have the contact write to another server.
        case move
        /// Make the address, or change what is done with requests at it.
        case createAddress
        case showAddress
        case deleteAddress
        /// List who waits for an answer.
        case requests
        case acceptRequest
        case rejectRequest
    }

    public var connecting: Step
    /// Of `accept`. A secret.
    public var link: String?
    /// Of `look` and `deleteConnection`; of `connections` the last that the asker has.
    public var connection: Int64?
    /// Of `markVerified`: what was compared.
    public var code: String?
    /// Of everything about one contact: as the user named it (`NamedChats`).
    public var chat: String?
    /// Of `createAddress`.
    public var acceptance: RequestAcceptance?
    /// Of `acceptRequest` and `rejectRequest`.
    public var request: Int64?

    public static let invite = ContactRequest(connecting: .invite)
    public static func accept(_ link: String) -> ContactRequest {
        ContactRequest(connecting: .accept, link: link)
    }
    public static func look(_ connection: Int64) -> ContactRequest {
        ContactRequest(connecting: .look, connection: connection)
    }

    public static func verify(_ chat: String) -> ContactRequest {
        ContactRequest(connecting: .verify, chat: chat)
    }

    public static func mark(_ chat: String, verifiedBy code: String) -> ContactRequest {
        var request = ContactRequest(connecting: .markVerified, chat: chat)
        request.code = code
        return request
    }

    public static func removeVerification(_ chat: String) -> ContactRequest {
        ContactRequest(connecting: .removeVerification, chat: chat)
    }

    public static func requireVerification(_ chat: String, _ isRequired: Bool) -> ContactRequest {
        ContactRequest(connecting: isRequired ? .requireVerification : .allowUnverified, chat: chat)
    }

    public static func connections(after number: Int64) -> ContactRequest {
        ContactRequest(connecting: .connections, connection: number)
    }

    public static func deleteConnection(_ number: Int64) -> ContactRequest {
        ContactRequest(connecting: .deleteConnection, connection: number)
    }

    public static func renew(_ chat: String) -> ContactRequest {
        ContactRequest(connecting: .renew, chat: chat)
    }

    public static func move(_ chat: String) -> ContactRequest {
        ContactRequest(connecting: .move, chat: chat)
    }

    public static func createAddress(_ acceptance: RequestAcceptance?) -> ContactRequest {
        ContactRequest(connecting: .createAddress, acceptance: acceptance)
    }
    public static let showAddress = ContactRequest(connecting: .showAddress)
    public static let deleteAddress = ContactRequest(connecting: .deleteAddress)
    public static let requests = ContactRequest(connecting: .requests)
    public static func acceptRequest(_ number: Int64) -> ContactRequest {
        ContactRequest(connecting: .acceptRequest, request: number)
    }
    public static func rejectRequest(_ number: Int64) -> ContactRequest {
        ContactRequest(connecting: .rejectRequest, request: number)
    }

    /// - Throws: `.noSuchChat` where none, or several, are named as the contact; `.invalidCommand`
    ///   where there is no address to show; as `ContactMaking`, `AddressKeeping` and `FolderNaming`.
    public func carryOut(
        on core: any ContactMaking & ConnectionListing & AddressKeeping & ChatReading,
        naming: some FolderNaming
    ) async throws(ChatError) -> ContactAnswer {
        switch connecting {
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
                of: chat.reference, connecting == .requireVerification)
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

    /// Contacts who invite are called as the user knows them: strangers may call themselves the same.
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

    /// Connections in one answer, so that it fits into a line.
    private static let maxConnections = 100

    /// Chats are called as the user knows them.
    private func connections(
        of core: any ConnectionListing & ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> [ListedConnection] {
        var found = try await core.connections(after: connection ?? 0, count: Self.maxConnections)
        guard found.contains(where: { $0.chat != nil }) else { return found }
        let chats = try await naming.chats(of: core)
        for place in found.indices {
            guard let reference = found[place].chat else { continue }
            // Never a name that a peer chose.
            found[place].name = ChatReference(reference).flatMap { chats[$0] }?.name ?? reference
        }
        return found
    }

    private func contact(
        of core: any ChatReading, _ naming: some FolderNaming
    ) async throws(ChatError) -> NamedChat {
        try await naming.chats(of: core).only(.contact).chat(chat ?? "")
    }

    /// Answers when somebody connects, and not only when it is asked again.
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

    func reply(
        from core: any ContactMaking & ConnectionListing & AddressKeeping & ChatReading,
        naming: some FolderNaming
    ) async -> ContactAnswer {
        do throws(ChatError) {
            return try await carryOut(on: core, naming: naming)
        } catch {
            return ContactAnswer(problem: error.sentence)
        }
    }
}

/// The answer: one line of JSON.
public struct ContactAnswer: Codable, Hashable, Sendable {
    /// By which it is looked who has connected.
    public var connection: Int64?
    /// That was made. A secret.
    public var link: String?
    /// Of the chat with who has connected.
    public var name: String?
    /// The same as a reference.
    public var chat: String?
    /// Where its files are, an absolute path; nil without a mount.
    public var folder: String?
    /// Of `verify`.
    public var code: String?
    public var protection: ContactProtection?
    public var verification: ContactVerification?
    public var isVerificationRequired: Bool?
    /// Of the address.
    public var acceptance: RequestAcceptance?
    /// Why nobody can ask there.
    public var addressProblem: String?
    /// Who waits.
    public var requests: [WaitingRequest]?
    /// A part of all; none after the last.
    public var connections: [ListedConnection]?
    /// Why not.
    var problem: String?
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
