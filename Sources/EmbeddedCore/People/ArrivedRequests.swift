import Agent
import Base
import ChatCore
import ChatProtocol

/// Processes contact requests at the profile's address, of which strangers may send any number, and group
/// invitations from contacts.
struct ArrivedRequests {
    let change: ProfileChange
    let time: Timestamp

    /// Maximum number of pending requests at the address, and of pending invitations per contact. Further
    /// ones are rejected.
    static let maxWaiting = 100
    /// Maximum number of requests accepted automatically per hour; others wait.
    static let maxAccepted = 60
    /// Maximum length of the stored text of a request, in bytes.
    static let longestText = 4000

    private var table: RequestTable { change.tables.requests }

    /// - Parameter id: connection of the address.
    func take(_ asked: ContactRequestID, _ information: [UInt8], over id: ConnectionID) throws {
        guard let address = try table.address(), address.connection == id,
            let request = Self.request(in: information)
        else {
            return try refuseRequest(asked)
        }
        let message = Array(ChatMessage(.contactRequest(request), id: nil).json.utf8)
        if let id = request.requestID?.bytes, let known = try table.waiting(sameAs: id) {
            try table.replace(known.number, by: asked, message: message, at: time)
            change.tell(.requestsChanged)
            return try refuseRequest(known.asked)
        }
        if address.acceptance == .automatically, try isFewAccepted() {
            return try add(asked, request, message, .accepted)
        }
        guard try table.waitingCount() < Self.maxWaiting else {
            // Only debug, or strangers could fill the log.
            log.debug("contact request rejected: waiting=\(Self.maxWaiting)")
            return try refuseRequest(asked)
        }
        try add(asked, request, message, .waiting)
    }

    /// Stores a group invitation for the user. A repeated one replaces its predecessor.
    func take(_ invitation: GroupInvitation, in chat: Int64) throws {
        var invitation = invitation
        (invitation.profile.image, invitation.profile.description) = (nil, nil)
        let message = Array(ChatMessage(.group(.invitation(invitation)), id: nil).json.utf8)
        let mark = Array("\(chat) \(invitation.profile.displayName)".utf8)
        let none = ContactRequestID(0)
        if let known = try table.waiting(sameAs: mark, in: chat) {
            try table.replace(known.number, by: none, message: message, at: time)
            return change.tell(.requestsChanged)
        }
        guard try table.waitingCount(in: chat) < Self.maxWaiting else {
            return log.notice("group invitation ignored: chat=\(chat) waiting=\(Self.maxWaiting)")
        }
        try table.insert(none, sameAs: mark, message: message, at: time, .waiting, chat: chat)
        change.tell(.requestsChanged)
    }

    private func add(
        _ asked: ContactRequestID, _ request: MessageEvent.ContactRequest, _ message: [UInt8],
        _ state: StoredRequestState
    ) throws {
        try table.insert(
            asked, sameAs: request.requestID?.bytes, message: message, at: time, state,
            acceptedAt: state == .accepted ? change.elapsed : nil)
        change.tell(.requestsChanged)
        change.scheduleAgentWork()
    }

    private func refuseRequest(_ asked: ContactRequestID) throws {
        try table.reject(asked)
        change.scheduleAgentWork()
    }

    private func isFewAccepted() throws -> Bool {
        let start = change.elapsed.advanced(by: .seconds(-3600))
        try table.forgetFailed(before: start)
        return try table.acceptedCount(since: start) < Self.maxAccepted
    }

    /// Returns a decoded request without its image, which is not shown before acceptance.
    private static func request(in information: [UInt8]) -> MessageEvent.ContactRequest? {
        let message = try? ChatBody.readInformation(information, compression: Zstandard.installed)
        guard var request = message?.event.asRequest else { return nil }
        request.profile.image = nil
        if let text = request.message?.text {
            request.message = ChatContent(.text, text: text.beginning(bytes: longestText))
        }
        return request
    }
}

extension MessageEvent {
    /// Official apps accept both events as requests.
    fileprivate var asRequest: ContactRequest? {
        switch self {
        case .contactRequest(let request): request
        case .information(let profile): ContactRequest(profile: profile, requestID: nil)
        default: nil
        }
    }
}

extension WaitingRequest {
    /// Returns nil for undecodable data.
    /// - Parameter contact: sender of a group invitation.
    init?(_ request: RequestTable.Request, from contact: Chat?) {
        switch ChatMessage(stored: request.message)?.event {
        case .contactRequest(let asked):
            self.init(
                number: request.number, name: asked.profile.displayName, time: request.time,
                text: asked.message?.text ?? "", problem: request.problem)
        case .group(.invitation(let invitation)):
            self.init(
                number: request.number, name: contact?.displayName ?? "", time: request.time, text: "",
                group: invitation.profile.displayName, chat: contact?.reference, problem: request.problem)
        default: return nil
        }
    }
}
