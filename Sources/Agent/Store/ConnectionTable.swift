import Base
import Cryptography
import Ratchet
import SMP
import Store

/// Connections with their queues, within one transaction.
struct ConnectionTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private var queues: QueueTable { QueueTable(connection) }

    func all() throws -> [ConnectionID] {
        try connection.query("SELECT id FROM connection ORDER BY id") { ConnectionID($0.integer("id")) }
    }

    func all(after id: ConnectionID, count: Int) throws -> [ConnectionID] {
        try connection.query(
            "SELECT id FROM connection WHERE id > ? ORDER BY id LIMIT ?", id.number, max(0, count)
        ) { ConnectionID($0.integer("id")) }
    }

    func all(in phase: ConnectionCondition.Phase) throws -> [ConnectionID] {
        try connection.query("SELECT id FROM connection WHERE phase = ? ORDER BY id", phase) {
            ConnectionID($0.integer("id"))
        }
    }

    /// Connections with messages to send or a pending deletion.
    func unfinished() throws -> [ConnectionID] {
        try connection.query(
            """
            SELECT connection AS id FROM outgoing UNION SELECT id FROM connection WHERE phase = ? ORDER BY id
            """, ConnectionCondition.Phase.deleting
        ) { ConnectionID($0.integer("id")) }
    }

    /// Connections with a key agreement under way.
    func agreeing() throws -> [ConnectionID] {
        try connection.query(
            "SELECT id FROM connection WHERE phase = ? AND synchronisation IN (?, ?) ORDER BY id",
            ConnectionCondition.Phase.connected, RatchetSyncPhase.started, RatchetSyncPhase.agreed
        ) { ConnectionID($0.integer("id")) }
    }

    /// Records that a server has accepted the joiner's confirmation.
    func noteConfirmed(_ id: ConnectionID, at time: ElapsedTime) throws {
        try connection.execute(
            "UPDATE connection SET confirmed = coalesce(confirmed, ?) WHERE id = ?", time, id.number)
    }

    /// Connections confirmed before `time` without a reply since.
    func unanswered(since time: ElapsedTime) throws -> [ConnectionID] {
        try connection.query(
            "SELECT id FROM connection WHERE phase = ? AND confirmed < ? ORDER BY id",
            ConnectionCondition.Phase.joining, time
        ) { ConnectionID($0.integer("id")) }
    }

    func exists(_ id: ConnectionID) throws -> Bool {
        try connection.exists("SELECT 1 FROM connection WHERE id = ?", id.number)
    }

    /// Whether the connection is established.
    func stands(_ id: ConnectionID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM connection WHERE id = ? AND phase IN (?, ?)", id.number,
            ConnectionCondition.Phase.connected, ConnectionCondition.Phase.deleting)
    }

    /// Returns the connection made with a link.
    func joined(linkHash: [UInt8]) throws -> ConnectionID? {
        try connection.first("SELECT id FROM connection WHERE link_hash = ?", linkHash) {
            ConnectionID($0.integer("id"))
        }
    }

    /// - Throws: `AgentError.noSuchConnection`; `AgentError.damagedState` for unusable data.
    func load(_ id: ConnectionID) throws -> ConnectionState {
        do {
            return try stored(id)
        } catch let error as AgentError {
            throw error
        } catch let error as StoreError where error.code != .damaged || error.resultCode != 0 {
            throw error
        } catch {
            throw AgentError(.damaged, AgentError.damagedState.sentence, cause: error)
        }
    }

    /// Like `load`, but returns nil for a damaged connection.
    func usable(_ id: ConnectionID) throws -> ConnectionState? {
        do {
            return try load(id)
        } catch let error as AgentError where error.code == .damaged {
            return nil
        }
    }

    private func stored(_ id: ConnectionID) throws -> ConnectionState {
        let state = try connection.first("SELECT * FROM connection WHERE id = ?", id.number) { row in
            var state = ConnectionState(
                phase: try row.value("phase"),
                agentVersion: UInt16(clamping: row.integer("agent_version")),
                information: row.bytes("information"), receiving: [])
            state.offeredKeys = try row.bytesOrNil("offered_keys").map { try AgreementKeys(stored: $0) }
            state.joinersParameters = try row.bytesOrNil("joiners_parameters").map {
                try AgreementParameters(stored: $0)
            }
            state.ratchet = try row.bytesOrNil("ratchet").map { try Ratchet(decoding: WipedBytes($0)) }
            state.sequence = MessageSequence(
                lastSent: row.integer("last_sent"), lastSentHash: row.bytes("last_sent_hash"),
                lastReceived: row.integer("last_received"), lastReceivedHash: row.bytes("last_received_hash"))
            let phase: RatchetSyncPhase = try row.value("synchronisation")
            // Older releases also stored 0 for `awaited`.
            let ready = RatchetSync.Ready(rawValue: row.integer("answers_ready")) ?? .ignored
            state.synchronisation = RatchetSync(
                phase: phase,
                keys: try row.bytesOrNil("synchronisation_keys").map { try AgreementKeys(stored: $0) },
                ready: phase == .agreed && ready == .ignored ? .awaited : ready,
                usedKeys: row.bytes("used_keys").pieces(of: SHA256.length))
            state.moves = RateLimit.moves.having(stored: row.bytes("moves"))
            state.requiredSecurity = row.bytesOrNil("required_security")
            state.agreements = RateLimit.agreements.having(stored: row.bytes("agreements"))
            return state
        }
        guard var state else { throw AgentError.noSuchConnection }
        state.receiving = try queues.receiving(of: id)
        state.sending = try queues.sending(of: id)
        return state
    }

    /// Releases the link of a failed connection for another attempt.
    func forgetLink(of id: ConnectionID) throws {
        try connection.execute("UPDATE connection SET link_hash = NULL WHERE id = ?", id.number)
    }

    /// The application's note of the connection; nil if none.
    func reason(of id: ConnectionID) throws -> String? {
        try connection.first("SELECT reason FROM connection WHERE id = ?", id.number) {
            $0.textOrNil("reason")
        } ?? nil
    }

    func linkHash(of id: ConnectionID) throws -> [UInt8]? {
        try connection.first(
            "SELECT link_hash FROM connection WHERE id = ? AND link_hash IS NOT NULL", id.number
        ) { $0.bytes("link_hash") }
    }

    /// Stores a new connection and assigns ids to its queues.
    func insert(
        _ state: ConnectionState, linkHash: [UInt8]? = nil, reason: String? = nil
    ) throws -> ConnectionID {
        try connection.execute(
            """
            INSERT INTO connection (phase, agent_version, information, last_sent, last_sent_hash, last_received,
                last_received_hash, synchronisation, answers_ready, used_keys, link_hash, reason)
            VALUES (?, 0, x'', 0, x'', 0, x'', ?, 0, x'', ?, ?)
            """, state.phase, state.synchronisation.phase, linkHash, reason)
        let id = ConnectionID(connection.lastInsertedID)
        try update(id, state)
        try queues.replace(receiving: [], by: state.receiving, of: id)
        try queues.replace(sending: state.sending, of: id)
        return id
    }

    /// Stores the changes of a step.
    func save(_ id: ConnectionID, _ state: ConnectionState, before: ConnectionState) throws {
        try update(id, state)
        if state.receiving != before.receiving {
            try queues.replace(receiving: before.receiving, by: state.receiving, of: id)
        }
        if state.sending != before.sending { try queues.replace(sending: state.sending, of: id) }
    }

    private func update(_ id: ConnectionID, _ state: ConnectionState) throws {
        try connection.execute(
            """
            UPDATE connection SET phase = ?, agent_version = ?, information = ?, offered_keys = ?,
                joiners_parameters = ?, ratchet = ?, last_sent = ?, last_sent_hash = ?, last_received = ?,
                last_received_hash = ?, synchronisation = ?, synchronisation_keys = ?, answers_ready = ?,
                used_keys = ?, moves = ?, agreements = ?, required_security = ? WHERE id = ?
            """, state.phase, Int(state.agentVersion), state.information, state.offeredKeys?.stored,
            state.joinersParameters?.encoded, state.ratchet?.encoded.bytes, state.sequence.lastSent,
            state.sequence.lastSentHash, state.sequence.lastReceived, state.sequence.lastReceivedHash,
            state.synchronisation.phase, state.synchronisation.keys?.stored,
            state.synchronisation.ready.rawValue, Array(state.synchronisation.usedKeys.joined()),
            state.moves.stored, state.agreements.stored, state.requiredSecurity, id.number)
    }

    /// Deletes a connection, but keeps its events.
    func remove(_ id: ConnectionID) throws {
        try connection.execute("DELETE FROM connection WHERE id = ?", id.number)
    }
}
