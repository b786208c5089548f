import Agent
import Base
import ChatCore
import Glibc

/// All connections of the agent for listing and deletion.
extension People {
    func connections(after number: Int64, count: Int) async throws(ChatError) -> [ListedConnection] {
        guard try await hasAnyConnection() else { return [] }
        return try await connecting {
            let all = try await agent().overview(after: ConnectionID(number), count: count)
            return try await store.reading { [store] tables in
                try all.map { try tables.listed($0, of: store.profile.id) }
            }
        }
    }

    func deleteConnection(_ number: Int64) async throws(ChatError) {
        guard let found = try await connections(after: number - 1, count: 1).first, found.number == number
        else { throw ChatError.noSuchConnection(number) }
        guard found.isDeletable else { throw ChatError.connectionInUse(found) }
        let id = ConnectionID(number)
        try await connecting {
            try await store.committing { change in
                // The peer may have introduced itself meanwhile.
                guard try change.tables.people.person(id)?.chat == nil || found.chat != nil else {
                    throw ChatError.connectionInUse(found)
                }
                try change.tables.people.end(id)
                try change.tables.requests.forget(joinedBy: id)
            }
            try await agent().delete(id, afterSending: false)
        }
    }

    /// Avoids opening the agent of a profile without connections.
    private func hasAnyConnection() async throws(ChatError) -> Bool {
        try await blocking.run { [store] in
            try access(store.folders.path + "/agent.sqlite", F_OK) == 0
                || store.read { try $0.people.hasConnections() }
        }
    }
}

extension ProfileTables {
    /// Returns the purpose of a connection.
    fileprivate func listed(_ found: ConnectionOverview, of profile: Int64) throws -> ListedConnection {
        let servers = found.servers.map(\.text)
        let (purpose, chat) = try purpose(of: found)
        let shown = try chat.flatMap { try chats.chat($0, of: profile) }
        return ListedConnection(
            number: found.id.number, purpose: purpose, chat: shown?.reference, name: shown?.displayName,
            servers: servers, problem: try people.failure(of: found.id))
    }

    private func purpose(
        of found: ConnectionOverview
    ) throws -> (purpose: ListedConnection.Purpose, chat: Int64?) {
        let (id, person) = (found.id, try people.person(found.id))
        let member = try memberConnections.row(over: id)
        let chat = try person?.chat ?? groups.group(over: id)?.chat ?? member?.chat
        guard let phase = found.phase else { return (.damaged, chat) }
        if phase == .deleting || person?.isEnded == true { return (.ending, chat) }
        if phase == .failed { return (.failed, chat) }
        if phase == .address { return (.address, nil) }
        if member != nil { return (.member, chat) }
        if let chat { return (try groups.contains(chat) ? .group : .contact, chat) }
        switch phase {
        case .inviting: return (.invitation, nil)
        case .requesting: return (.joining, nil)
        case .joining:
            return (try requests.isAccepted(over: id) ? .accepted : .joining, nil)
        case .connected, .confirming, .address, .failed, .deleting: return (.unknown, nil)
        }
    }
}
