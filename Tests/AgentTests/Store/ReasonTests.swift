import Base
import Store
import TestSupport
import Testing

@testable import Agent

@Suite("Reasons of connections")
struct ReasonTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("connections.db") }

    private static func insert(
        _ phase: ConnectionCondition.Phase, link: [UInt8]? = nil, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO connection (phase, agent_version, information, last_sent, last_sent_hash, last_received,
                last_received_hash, synchronisation, answers_ready, used_keys, link_hash)
            VALUES (?, 0, x'', 0, x'', 0, x'', 'synchronised', 0, x'', ?)
            """, phase, link)
    }

    @Test("events repeat their connection's reason")
    func repeated() throws {
        let database = try Database(path: path, migrations: AgentSchema.migrations)
        try database.transaction { connection in
            let (table, events) = (ConnectionTable(connection), EventTable(connection))
            let state = ConnectionState(phase: .address, information: [], receiving: [])
            let first = try table.insert(state, reason: "own")
            let second = try table.insert(state)
            for id in [first, second] { _ = try events.append(.connected(information: []), of: id) }
            #expect(try events.events(after: 0, limit: 9).map(\.reason) == ["own", nil])
            #expect(try events.readable(after: 0, limit: 9).map { $0.event?.reason } == ["own", nil])
            try table.remove(first)
            #expect(try events.events(after: 0, limit: 9).map(\.reason) == [nil, nil])
        }
    }

    @Test("migrated connections get a reason from their origin")
    func earlier() throws {
        let before = AgentSchema.migrations.prefix { $0.name != "reasons" }
        let old = try Database(path: path, migrations: Array(before))
        try old.transaction { connection in
            try Self.insert(.address, connection)
            try Self.insert(.inviting, connection)
            try Self.insert(.joining, link: [1], connection)
            try Self.insert(.requesting, link: [2], connection)
            try Self.insert(.connected, link: [3], connection)
            try Self.insert(.joining, connection)
            try Self.insert(.connected, connection)
            try Self.insert(.connected, connection)
            try connection.execute("INSERT INTO contact_request (address, link, accepted) VALUES (1, '', 8)")
        }
        old.close()
        let new = try Database(path: path, migrations: AgentSchema.migrations)
        let reasons = try new.read { connection in
            try connection.query("SELECT reason FROM connection ORDER BY id") { $0.text("reason") }
        }
        #expect(
            reasons == [
                "own address", "own invitation", "given invitation", "given address unknown",
                "given address unknown", "requester", "own invitation", "requester",
            ])
    }
}
