import Agent
import Base
import ChatCore
import ChatProtocol

/// Takes in who asks at the profile's address, strangers, of whom there may be any number, and contacts who invite into
/// groups.
struct ArrivedRequests {
    let change: ProfileChange
    let time: Timestamp

    /// So many wait at most at the address, and so many invitations of one contact; who asks then is turned away.
    static let maxWaiting = 100
    /// So many are accepted within an hour without the user, the others wait.
    static let maxAccepted = 60
    /// Bytes that are kept of what somebody writes along.
    static let longestText = 4000

    private var table: RequestTable { change.tables.requests }

    /// - Parameter id: of the connection that was asked over.
    func take(_ asked: ContactRequestID, _ information: [UInt8], over id: ConnectionID) throws {
        guard let address = try table.address(), address.connection == id,
            let request = Self.request(in: information)
        else {
            return try turnAway(asked)
        }
        let message = Array(ChatMessage(.contactRequest(request), id: nil).json.utf8)
        if let id = request.requestID?.bytes, let known = try table.waiting(sameAs: id) {
            try table.replace(known.number, by: asked, message: message, at: time)
            change.tell(.requestsChanged)
            return try turnAway(known.asked)
        }
        if address.acceptance == .automatically, try isFewAccepted() {
            return try add(asked, request, message, .accepted)
        }
        guard try table.waitingCount() < Self.maxWaiting else {
            // Not louder: strangers would fill the log.
            log.debug("A contact request was turned away: \(Self.maxWaiting) others wait for an answer.")
            return try turnAway(asked)
        }
        try add(asked, request, message, .waiting)
    }

    /// The user answers, as with others who wait. The same group again takes the place of what was not answered.
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
            return log.notice("An invitation was passed over: \(Self.maxWaiting) others of the contact wait.")
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
        change.haveAgentWork()
    }

    private func turnAway(_ asked: ContactRequestID) throws {
        try table.reject(asked)
        change.haveAgentWork()
    }

    private func isFewAccepted() throws -> Bool {
        try table.acceptedCount(since: change.elapsed.advanced(by: .seconds(-3600))) < Self.maxAccepted
    }

    /// Without the picture, which nobody is shown before they are a contact.
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
    /// Official programs take both for one too.
    fileprivate var asRequest: ContactRequest? {
        switch self {
        case .contactRequest(let request): request
        case .information(let profile): ContactRequest(profile: profile, requestID: nil)
        default: nil
        }
    }
}

extension WaitingRequest {
    /// nil for what cannot be read.
    /// - Parameter contact: who invites into a group.
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
