/// Contacts, their connections, and the address.
public typealias ContactKeeping = ContactMaking & ConnectionListing & AddressKeeping

/// A core that leaves its contacts to a part of it, or to the core beneath.
public protocol ContactForwarding: ContactMaking, ConnectionListing, AddressKeeping {
    var contacts: any ContactKeeping { get }
}

extension ContactForwarding {
    public func invite() async throws(ChatError) -> ContactInvitation { try await contacts.invite() }

    public func accept(_ link: String) async throws(ChatError) -> Int64 { try await contacts.accept(link) }

    public func contact(of connection: Int64) async throws(ChatError) -> Chat? {
        try await contacts.contact(of: connection)
    }

    public func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        try await contacts.security(of: chat)
    }

    public func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        try await contacts.verify(chat, code: code)
    }

    public func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError) {
        try await contacts.requireVerification(of: chat, isRequired)
    }

    public func renewKeys(of chat: ChatReference) async throws(ChatError) {
        try await contacts.renewKeys(of: chat)
    }

    public func moveQueue(of chat: ChatReference) async throws(ChatError) {
        try await contacts.moveQueue(of: chat)
    }

    public func connections(
        after number: Int64, count: Int
    ) async throws(ChatError) -> [ListedConnection] {
        try await contacts.connections(after: number, count: count)
    }

    public func deleteConnection(_ number: Int64) async throws(ChatError) {
        try await contacts.deleteConnection(number)
    }

    public func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress {
        try await contacts.createAddress(acceptance)
    }

    public func address() async throws(ChatError) -> ContactAddress? { try await contacts.address() }

    public func deleteAddress() async throws(ChatError) { try await contacts.deleteAddress() }

    public func requests() async throws(ChatError) -> [WaitingRequest] { try await contacts.requests() }

    public func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64 {
        try await contacts.acceptRequest(number)
    }

    public func rejectRequest(_ number: Int64) async throws(ChatError) {
        try await contacts.rejectRequest(number)
    }
}
