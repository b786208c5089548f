import TestSupport

/// Official relays and connected users.
final class OfficialStage: Sendable {
    let relays: OfficialRelays
    let people: [OfficialPerson]

    /// Creates people with running programs. Each is connected with the first.
    static func start(_ names: String...) async throws -> OfficialStage {
        let relays = try await OfficialRelays()
        var people: [OfficialPerson] = []
        for name in names { people.append(try await OfficialPerson(name, relays)) }
        for other in people.dropFirst() { try await connect(people[0], other) }
        return OfficialStage(relays, people)
    }

    private init(_ relays: OfficialRelays, _ people: [OfficialPerson]) {
        self.relays = relays
        self.people = people
    }

    static func connect(_ one: OfficialPerson, _ other: OfficialPerson) async throws {
        let (inviting, invited) = (try await one.client(), try await other.client())
        defer {
            inviting.close()
            invited.close()
        }
        let invitation = try await inviting.command("/connect")
        guard let link = invitation.firstMatch(of: /"connFullLink":"([^"]+)"/)?.1 else {
            throw WaitedInVain("no invitation in \(invitation)")
        }
        try await invited.command("/connect \(link)")
        try await inviting.event("contactConnected", with: "\"\(other.name)\"")
        try await invited.event("contactConnected", with: "\"\(one.name)\"")
    }

    /// A group of all people; the first is its host.
    func makeGroup(_ name: String) async throws {
        var clients: [OfficialClient] = []
        for person in people { clients.append(try await person.client()) }
        defer { for client in clients { client.close() } }
        try await clients[0].command("/group \(name)")
        for (person, client) in zip(people, clients).dropFirst() {
            try await clients[0].command("/add \(name) \(person.name)")
            try await client.event("receivedGroupInvitation")
            try await client.command("/join \(name)")
            try await client.event("userJoinedGroup")
            try await clients[0].event("joinedGroupMember", with: "\"\(person.name)\"")
        }
        // The host introduces the members to each other.
        for (index, client) in clients.enumerated().dropFirst(2) {
            for earlier in people[1..<index] {
                try await client.event("connectedToGroupMember", with: "\"\(earlier.name)\"")
            }
        }
    }

    func leave() async throws {
        for person in people { _ = try await person.leave() }
        try await end()
    }

    /// Ends the stage where no mount runs.
    func end() async throws {
        for person in people { try await person.stopProgram() }
        try await relays.stop()
    }
}
