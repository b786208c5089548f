import Base
import ChatCore

/// Commands to the core and their answers: who waits for them goes before what is done in the background, and it is
/// known whether the core can be reached.
final class CoreConnection: Sendable {
    private struct State {
        /// Commands of somebody who waits, under way.
        var waiting = 0
        var isConnected = false
        /// The last connection of each lane of which it is known that it leads to the former core.
        var identified: [TransportLane: UInt64] = [:]
    }

    private let transport: any OfficialTransport
    /// Those that need the network.
    private let held: HeldCommands
    private let identity: CoreIdentity?
    private let state = Lock(State())

    /// - Parameter identity: asked before the first command of every connection; nil: any core will do.
    init(_ transport: any OfficialTransport, _ held: HeldCommands, identity: CoreIdentity? = nil) {
        (self.transport, self.held, self.identity) = (transport, held, identity)
    }

    // MARK: - Asking

    /// For somebody who waits: until the core is resumed, where the command needs the network.
    /// - Throws: what the core refused, or why there is no answer (`OfficialTransport`).
    func ask(
        _ command: APICommand, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> APIResponse {
        try await request(command, .foreground, timeout)
    }

    /// For nobody in particular.
    func askInBackground(_ command: APICommand) async throws(OfficialCoreError) -> APIResponse {
        try await request(command, .background, .seconds(60))
    }

    private func request(
        _ command: APICommand, _ lane: TransportLane, _ timeout: Duration
    ) async throws(OfficialCoreError) -> APIResponse {
        guard command.needsNetwork else { return try await identifiedRequest(command, lane, timeout) }
        return try await held.carryOut { () throws(OfficialCoreError) in
            try await identifiedRequest(command, lane, timeout)
        }
    }

    /// Over a connection of which it is known whose core it leads to, or not at all.
    private func identifiedRequest(
        _ command: APICommand, _ lane: TransportLane, _ timeout: Duration
    ) async throws(OfficialCoreError) -> APIResponse {
        if lane == .foreground { state.withLock { $0.waiting += 1 } }
        defer { if lane == .foreground { state.withLock { $0.waiting -= 1 } } }
        let connection: UInt64?
        do throws(OfficialCoreError) {
            connection = try await identify(lane)
        } catch {
            // Whatever became of the question: of the command nothing was sent.
            throw switch error.code {
            case .interrupted: OfficialCoreError(.closed, error.sentence, cause: error)
            case _ where error.leavesDoubt:
                OfficialCoreError(.disconnected, error.sentence, cause: error)
            default: error
            }
        }
        return try await transport.request(command, lane: lane, timeout: timeout, connection: connection)
    }

    /// Looks on every connection whether the core is the one that it was.
    /// - Throws: `.otherDatabase`; `.unidentified`; why there is no connection.
    func verify() async throws(OfficialCoreError) {
        for lane in TransportLane.allCases { _ = try await identify(lane) }
    }

    /// The connection of a lane that leads to the former core; nil where any will do.
    private func identify(_ lane: TransportLane) async throws(OfficialCoreError) -> UInt64? {
        guard let identity else { return nil }
        let connection = transport.connection(of: lane)
        if state.withLock({ $0.identified[lane] == connection }) { return connection }
        try await identity.check(lane, connection)
        state.withLock { $0.identified[lane] = connection }
        return connection
    }

    /// Waits until nobody waits for the core, for a second at most.
    func letOthersGoFirst() async {
        let end = ContinuousClock.now + .seconds(1)
        while state.withLock({ $0.waiting > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// An item as the core has it now, nil when it has none of this id in this chat.
    func item(_ id: ItemID, in chat: APIChatReference) async throws(OfficialCoreError) -> APIItem? {
        do throws(OfficialCoreError) {
            guard case .chatPage(let page) = try await ask(.chatPage(chat, .around(id, count: 2))) else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no messages.")
            }
            return page.items.first { $0.id == id }
        } catch {
            if error.refusal?.has("chatItemNotFound") == true { return nil }
            throw error
        }
    }

    /// The same for who gave a command about it.
    func knownItem(_ id: ItemID, in chat: APIChatReference) async throws(ChatError) -> APIItem? {
        do throws(OfficialCoreError) {
            return try await item(id, in: chat)
        } catch {
            throw error.chatError
        }
    }

    // MARK: - Its database

    /// The lines of an answer about the core's database, nil from a core that answers no such questions. The first
    /// line is the header.
    private func lines(_ query: APICommand) async throws(ChatError) -> [String]? {
        do throws(OfficialCoreError) {
            guard case .rows(let rows) = try await askInBackground(query) else { return nil }
            return rows
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    /// Rows of numbers; nil when the core answers no questions about its database.
    func numbers(_ statement: String) async throws(ChatError) -> [[Int64]]? {
        try await lines(.query(statement))?.dropFirst().map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).map { Int64($0) ?? 0 }
        }
    }

    /// Rows of texts that hold no `|`; nil when the core answers no questions about its database.
    func rows(_ statement: String) async throws(ChatError) -> [String]? {
        try await lines(.query(statement)).map { Array($0.dropFirst()) }
    }

    /// Rows of a text and a number; none from a core that answers no questions about its databases.
    func pairs(_ query: APICommand) async throws(ChatError) -> [String: Int64] {
        var pairs: [String: Int64] = [:]
        for row in try await lines(query)?.dropFirst() ?? [] {
            let parts = row.split(separator: "|", omittingEmptySubsequences: false)
            if parts.count == 2 { pairs[String(parts[0])] = Int64(parts[1]) }
        }
        return pairs
    }

    /// A single text, nil also when there is none.
    func text(_ statement: String) async throws(ChatError) -> String? {
        guard let rows = try await lines(.query(statement)), rows.count == 2 else { return nil }
        return rows[1]
    }

    // MARK: - Whether it can be reached

    /// A number of the present connections of all lanes, or of the last ones: another one as soon as one of them is
    /// made again, and never one that it was before.
    var number: UInt64 { TransportLane.allCases.map(transport.connection).reduce(0, &+) }

    var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Returns whether it was connected before.
    func setConnected(_ isConnected: Bool) -> Bool {
        state.withLock { state in
            defer { state.isConnected = isConnected }
            return state.isConnected
        }
    }

    /// Waits for a lost connection.
    /// - Throws: `.file(.unreachable)` when it does not come back within `timeout`.
    func waitUntilConnected(timeout: Duration) async throws(ChatError) {
        let end = ContinuousClock.now + timeout
        while !isConnected {
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw ChatError(.file(.unreachable), "There is no connection to the SimpleX core.")
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}
