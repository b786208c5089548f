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

    @Test("development database opens")
    func development() throws {
        try DevelopmentDatabase.make(
            "agent", at: path,
            rows: """
                INSERT INTO connection (phase, agent_version, information, last_sent, last_sent_hash, last_received,
                    last_received_hash, synchronisation, answers_ready, used_keys, link_hash, reason)
                VALUES ('address', 0, x'', 0, x'', 0, x'', 'synchronised', 0, x'', NULL, 'own address'),
                    ('joining', 0, x'', 0, x'', 0, x'', 'synchronised', 0, x'', x'01', 'given invitation');
                """)
        let old = try Database(path: path, migrations: AgentSchema.migrations)
        let reasons = try old.read { connection in
            try connection.query("SELECT reason FROM connection ORDER BY id") { $0.text("reason") }
        }
        #expect(reasons == ["own address", "given invitation"])
        let new = try Database(path: folder.path("new.db"), migrations: AgentSchema.migrations)
        #expect(try DevelopmentDatabase.schema(of: old) == DevelopmentDatabase.schema(of: new))
    }
}
