import Base

/// The profile's contact address, contact requests, and contacts' group invitations. `.chatUpdated` reports
/// new contacts. Every command throws `.invalidCommand` for cores whose contacts are managed elsewhere.
public protocol AddressKeeping: Sendable {
    /// Creates the profile's address. An existing one is kept and only gets the new acceptance mode.
    /// - Parameter acceptance: nil keeps the mode; a new address gets `ask`.
    /// - Throws: the errors of `ContactMaking.invite`.
    func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress

    /// Returns the address; nil without one.
    /// - Throws: the common errors (`OpenProfile`).
    func address() async throws(ChatError) -> ContactAddress?

    /// Deletes the address and its pending requests. Contacts stay.
    /// - Throws: `.invalidCommand` without an address.
    func deleteAddress() async throws(ChatError)

    /// Returns pending requests, and accepted ones that failed, in order of arrival.
    /// - Throws: `.invalidCommand` if the core cannot list them.
    func requests() async throws(ChatError) -> [WaitingRequest]

    /// Accepts a contact request or group invitation. Repeating it returns the same contact.
    /// - Returns: the connection's number for `ContactMaking.contact(of:)`.
    /// - Throws: `.invalidCommand` for an unknown number.
    func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64

    /// Deletes a request without telling the requester.
    /// - Throws: `.invalidCommand` for an unknown number.
    func rejectRequest(_ number: Int64) async throws(ChatError)
}

/// Acceptance mode of contact requests.
public enum RequestAcceptance: String, Codable, CaseIterable, Hashable, Sendable {
    case ask
    case automatically
}

/// A profile's contact address.
public struct ContactAddress: Hashable, Sendable {
    public let link: String
    public let acceptance: RequestAcceptance
    /// Why no requests arrive now, with a remedy; nil if they do.
    public let problem: String?

    public init(link: String, acceptance: RequestAcceptance, problem: String? = nil) {
        self.link = link
        self.acceptance = acceptance
        self.problem = problem
    }
}

/// A pending request.
public struct WaitingRequest: Codable, Hashable, Sendable {
    /// Identifies the request; never reused.
    public var number: Int64
    /// The stranger's own name, or a contact's label if `chat` is set.
    public var name: String
    public var time: Timestamp
    /// Text of the request; empty if none.
    public var text: String
    /// Group of an invitation; nil for a contact request.
    public var group: String?
    /// Reference of the inviting contact's chat; nil for a contact request or if unknown.
    public var chat: String?
    /// Why an accepted request failed, as a sentence; nil if not accepted.
    public var problem: String?

    public init(
        number: Int64, name: String, time: Timestamp, text: String, group: String? = nil,
        chat: ChatReference? = nil, problem: String? = nil
    ) {
        self.number = number
        self.name = name
        self.time = time
        self.text = text
        self.group = group
        self.chat = chat?.description
        self.problem = problem
    }
}

extension ChatError {
    public static func noSuchRequest(_ number: Int64) -> ChatError {
        ChatError(
            .invalidCommand, "No request \(number). List them with 'chatfs requests'.")
    }

    public static let noAddress = ChatError(
        .invalidCommand, "This profile has no address: make one with 'chatfs address create'.")
}

extension AddressKeeping {
    /// For cores whose contacts are managed elsewhere.
    public func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress {
        throw .contactsMadeElsewhere
    }
    public func address() async throws(ChatError) -> ContactAddress? { throw .contactsMadeElsewhere }
    public func deleteAddress() async throws(ChatError) { throw .contactsMadeElsewhere }
    public func requests() async throws(ChatError) -> [WaitingRequest] { throw .contactsMadeElsewhere }
    public func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64 {
        throw .contactsMadeElsewhere
    }
    public func rejectRequest(_ number: Int64) async throws(ChatError) { throw .contactsMadeElsewhere }
}
