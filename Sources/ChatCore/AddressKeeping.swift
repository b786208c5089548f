import Base

/// An address at which anybody may ask to become a contact, who does, and which contacts invite into groups. That somebody became one is told by
/// `.chatUpdated`. Where contacts are made elsewhere, every command throws `.invalidCommand`.
public protocol AddressKeeping: OpenProfile {
    /// Makes the profile's address; where there is one, it stays, only what is done with requests changes.
    /// - Parameter acceptance: nil: as it was, or `ask`.
    /// - Throws: as `ContactMaking.invite`.
    func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress

    /// nil where there is none.
    /// - Throws: as every command (`OpenProfile`).
    func address() async throws(ChatError) -> ContactAddress?

    /// Nobody reaches the profile by it any more; requests that wait are forgotten, contacts stay.
    /// - Throws: `.invalidCommand` where there is none.
    func deleteAddress() async throws(ChatError)

    /// Who waits for an answer, or for one that was given and could not be carried out, in the order in which they asked.
    /// - Throws: `.invalidCommand` where the core's own store cannot be asked.
    func requests() async throws(ChatError) -> [WaitingRequest]

    /// Becomes the contact of who asked, or a member of the group into which a contact invites. The same number again is the same contact.
    /// - Returns: by which `ContactMaking.contact(of:)` knows it.
    /// - Throws: `.invalidCommand` where nobody waits under this number.
    func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64

    /// Forgets a request; who asked is not told.
    /// - Throws: `.invalidCommand` where nobody waits under this number.
    func rejectRequest(_ number: Int64) async throws(ChatError)
}

/// What is done with who asks at an address.
public enum RequestAcceptance: String, Codable, CaseIterable, Hashable, Sendable {
    case ask
    case automatically
}

/// Where anybody may ask.
public struct ContactAddress: Hashable, Sendable {
    public let link: String
    public let acceptance: RequestAcceptance
    /// Why no request comes at present, and what helps; nil when some may.
    public let problem: String?

    public init(link: String, acceptance: RequestAcceptance, problem: String? = nil) {
        self.link = link
        self.acceptance = acceptance
        self.problem = problem
    }
}

/// Somebody who waits for an answer.
public struct WaitingRequest: Codable, Hashable, Sendable {
    /// For the answer; never given twice.
    public var number: Int64
    /// As a stranger calls itself. Of a contact a label, where `chat` says whose.
    public var name: String
    public var time: Timestamp
    /// What they wrote along; empty for nothing.
    public var text: String
    /// Into which they invite; nil of who asks at the address.
    public var group: String?
    /// Of the contact who invites, a reference; nil of who asks at the address, or where it is not known.
    public var chat: String?
    /// Why it is still here though it was accepted, a sentence; nil of what was not.
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
    /// For cores whose contacts are made elsewhere.
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
