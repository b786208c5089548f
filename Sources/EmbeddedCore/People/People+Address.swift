import Agent
import Base
import ChatCore

/// The profile's address and its contact requests.
extension People {
    func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress {
        if let known = try await stored(acceptance) { return known }
        let prepared = try await blocking.run { [self] in try invitation(.address) }
        return try await connecting {
            let agent = try await agent()
            let made = try await agent.invite(prepared)
            let link = made.links.short?.webLink ?? made.links.full.webLink
            // If another call created one meanwhile, the first one counts.
            let first = try await store.committing { change -> RequestTable.Address? in
                if let known = try change.tables.requests.address() { return known }
                try change.tables.people.insert(made.connection, .ownAddress)
                try change.tables.requests.insert(
                    address: made.connection, link: link, acceptance ?? .ask)
                return nil
            }
            if first != nil { try await agent.delete(made.connection, afterSending: false) }
            return ContactAddress(
                link: first?.link ?? link, acceptance: first?.acceptance ?? acceptance ?? .ask)
        }
    }

    /// Returns the existing address, after storing a new acceptance mode.
    private func stored(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress? {
        try await store.committing { change in
            if let acceptance { try change.tables.requests.setAcceptance(acceptance) }
            return try change.tables.requests.address().map(ContactAddress.init)
        }
    }

    func address() async throws(ChatError) -> ContactAddress? {
        try await store.reading { try $0.requests.address().map(ContactAddress.init) }
    }

    func deleteAddress() async throws(ChatError) {
        let id = try await store.committing { change in
            guard let address = try change.tables.requests.address() else { throw ChatError.noAddress }
            try change.tables.requests.removeAddress()
            change.tell(.requestsChanged)
            try change.tables.people.end(address.connection)
            return address.connection
        }
        // If this fails, the next start deletes it.
        try? await agent().delete(id, afterSending: false)
    }

    /// Deletes addresses and links without a row at start. Their creation or deletion was interrupted, so no
    /// other person has them.
    func removeLostLinks(_ agent: any ConnectionAgent) async throws {
        let addresses = try await agent.connections(in: .address)
        let invitations = try await agent.connections(in: .inviting)
        guard !addresses.isEmpty || !invitations.isEmpty else { return }
        let lost = try await store.reading { tables in
            let address = try tables.requests.address()?.connection
            return try addresses.filter { $0 != address }
                + invitations.filter { try tables.people.person($0) == nil }
        }
        for connection in lost { try await agent.delete(connection, afterSending: false) }
    }

    // MARK: - Requests

    func requests() async throws(ChatError) -> [WaitingRequest] {
        try await receiveWaiting()
        return try await store.reading { [store] tables in
            try tables.requests.unanswered().compactMap { request in
                let chat = try request.chat.flatMap { try tables.chats.chat($0, of: store.profile.id) }
                return WaitingRequest(request, from: chat)
            }
        }
    }

    func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64 {
        let request = try await store.committing { change in
            guard let request = try change.tables.requests.request(number), request.state != .rejected
            else { throw ChatError.noSuchRequest(number) }
            if request.state == .waiting { try change.tables.requests.setState(.accepted, of: number) }
            change.tell(.requestsChanged)
            return request
        }
        if let known = request.connection { return known.number }
        return try await connecting { try await work.answers.accept(request, agent()).number }
    }

    func rejectRequest(_ number: Int64) async throws(ChatError) {
        try await store.committing { change in
            guard try change.tables.requests.unanswered().contains(where: { $0.number == number }) else {
                throw ChatError.noSuchRequest(number)
            }
            try change.tables.requests.setState(.rejected, of: number)
            change.tell(.requestsChanged)
            change.scheduleAgentWork()
        }
    }
}

extension ContactAddress {
    private static let takenOver =
        "No request comes here any more: another program receives them with a copy of this profile, or the messaging "
        + "server has lost the address. End that program and open the profile here again; where that does not help, "
        + "delete the address and make another."

    fileprivate init(_ address: RequestTable.Address) {
        self.init(
            link: address.link, acceptance: address.acceptance,
            problem: address.isTakenOver ? Self.takenOver : nil)
    }
}
