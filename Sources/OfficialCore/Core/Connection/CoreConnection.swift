import Base
import ChatCore

/// Sends commands to the core. Commands with a waiting caller precede background commands. Also knows whether
/// the core is reachable.
final class CoreConnection: Sendable {
    private struct State {
        /// Running commands with a waiting caller.
        var waiting = 0
        var isConnected = false
        /// The reason for which the connected core is not used.
        var rejection: OfficialCoreError?
        /// For each lane, the last connection that was verified to lead to the same core.
        var identified: [TransportLane: UInt64] = [:]
    }

    private let transport: any OfficialTransport
    /// Commands that need the network.
    private let held: HeldCommands
    private let identity: CoreIdentity?
    private let state = Lock(State())

    /// - Parameter identity: Verified before the first command of every connection; nil accepts any core.
    init(_ transport: any OfficialTransport, _ held: HeldCommands, identity: CoreIdentity? = nil) {
        (self.transport, self.held, self.identity) = (transport, held, identity)
    }

    // MARK: - Commands

    /// Sends a command for a waiting caller. A command that needs the network waits until the core is
    /// resumed.
    /// - Throws: The core's refusal, or the reason for a missing answer (`OfficialTransport`).
    func ask(
        _ command: APICommand, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> APIResponse {
        try await request(command, .foreground, timeout)
    }

    /// Like `ask`, with errors for callers of a command.
    func answer(
        _ command: APICommand, timeout: Duration = .seconds(30)
    ) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await ask(command, timeout: timeout)
        } catch {
            throw error.chatError
        }
    }

    /// Like `answer`, but returns nil if the core refuses the command for an expected reason.
    func answer(
        _ command: APICommand, timeout: Duration = .seconds(30), unlessRefused isExpected: (APIError) -> Bool
    ) async throws(ChatError) -> APIResponse? {
        do throws(OfficialCoreError) {
            return try await ask(command, timeout: timeout)
        } catch {
            guard let refusal = error.refusal, isExpected(refusal) else { throw error.chatError }
            return nil
        }
    }

    /// Sends one message and returns its item.
    func send(
        _ message: APIComposedMessage, to chat: ChatReference
    ) async throws(OfficialCoreError) -> APIItem {
        let command: APICommand =
            if case .notes(let folder) = chat {
                .createNotes(folder, [message])
            } else {
                .send(APIChatReference(chat), [message])
            }
        guard case .newChatItems(let items) = try await ask(command, timeout: .seconds(120)),
            let item = items.first
        else { throw OfficialCoreError(.notUnderstood, "The SimpleX core returned no message.") }
        return item
    }

    /// Sends a background command.
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

    /// Sends a command only over a verified connection.
    private func identifiedRequest(
        _ command: APICommand, _ lane: TransportLane, _ timeout: Duration
    ) async throws(OfficialCoreError) -> APIResponse {
        if lane == .foreground { state.withLock { $0.waiting += 1 } }
        defer { if lane == .foreground { state.withLock { $0.waiting -= 1 } } }
        let connection: UInt64?
        do throws(OfficialCoreError) {
            connection = try await identify(lane)
        } catch {
            // The verification may have been sent, but the command was not.
            throw switch error.code {
            case .interrupted: OfficialCoreError(.closed, error.sentence, cause: error)
            case _ where error.leavesDoubt:
                OfficialCoreError(.disconnected, error.sentence, cause: error)
            default: error
            }
        }
        return try await transport.request(command, lane: lane, timeout: timeout, connection: connection)
    }

    /// Verifies on each lane that the core is the same as before.
    /// - Throws: `.otherDatabase`; `.unidentified`; connection errors.
    func verify() async throws(OfficialCoreError) {
        for lane in TransportLane.allCases { _ = try await identify(lane) }
    }

    /// Returns the lane's verified connection; nil if any is allowed.
    private func identify(_ lane: TransportLane) async throws(OfficialCoreError) -> UInt64? {
        guard let identity else { return nil }
        let connection = transport.connection(of: lane)
        if state.withLock({ $0.identified[lane] == connection }) { return connection }
        try await identity.check(lane, connection)
        state.withLock { $0.identified[lane] = connection }
        return connection
    }

    /// Waits until no foreground command is running, at most one second.
    func letOthersGoFirst() async {
        let end = ContinuousClock.now + .seconds(1)
        while state.withLock({ $0.waiting > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Returns the current state of an item, or nil if the chat has none with this id.
    func item(_ id: ItemID, in chat: APIChatReference) async throws(OfficialCoreError) -> APIItem? {
        do throws(OfficialCoreError) {
            guard case .chatPage(let page) = try await ask(.chatPage(chat, .around(id, count: 2))) else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX core returned no messages.")
            }
            return page.items.first { $0.id == id }
        } catch {
            if error.refusal?.has("chatItemNotFound") == true { return nil }
            throw error
        }
    }

    /// Like `item`, with errors for callers of a command.
    func knownItem(_ id: ItemID, in chat: APIChatReference) async throws(ChatError) -> APIItem? {
        do throws(OfficialCoreError) {
            return try await item(id, in: chat)
        } catch {
            throw error.chatError
        }
    }

    // MARK: - Queries of the core's database

    /// Returns the rows of a query as lines, with a header line first. Returns nil if the core does not
    /// support queries.
    private func lines(_ query: APICommand) async throws(ChatError) -> [String]? {
        do throws(OfficialCoreError) {
            guard case .rows(let rows) = try await askInBackground(query) else { return nil }
            return rows
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    /// Returns rows of numbers, or nil if the core does not support queries.
    func numbers(_ statement: String) async throws(ChatError) -> [[Int64]]? {
        try await lines(.query(statement))?.dropFirst().map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).map { Int64($0) ?? 0 }
        }
    }

    /// Returns rows of texts without `|`, or nil if the core does not support queries.
    func rows(_ statement: String) async throws(ChatError) -> [String]? {
        try await lines(.query(statement)).map { Array($0.dropFirst()) }
    }

    /// Returns rows of a text and a number; empty if the core does not support queries.
    func pairs(_ query: APICommand) async throws(ChatError) -> [String: Int64] {
        var pairs: [String: Int64] = [:]
        for row in try await lines(query)?.dropFirst() ?? [] {
            let parts = row.split(separator: "|", omittingEmptySubsequences: false)
            if parts.count == 2 { pairs[String(parts[0])] = Int64(parts[1]) }
        }
        return pairs
    }

    /// Returns a single text; nil also without a row.
    func text(_ statement: String) async throws(ChatError) -> String? {
        guard let rows = try await lines(.query(statement)), rows.count == 2 else { return nil }
        return rows[1]
    }

    // MARK: - Reachability

    /// A number of the current connections of all lanes. It changes with each reconnection and never repeats.
    var number: UInt64 { TransportLane.allCases.map(transport.connection).reduce(0, &+) }

    var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Returns the previous value.
    func setConnected(_ isConnected: Bool) -> Bool {
        state.withLock { state in
            defer { (state.isConnected, state.rejection) = (isConnected, nil) }
            return state.isConnected
        }
    }

    /// Records that the connected core is not used, until the connection changes.
    func reject(for reason: OfficialCoreError) { state.withLock { $0.rejection = reason } }

    /// Waits for the connection.
    /// - Throws: `.file(.unreachable)` if it is not back within `timeout`, with the reason of a rejection.
    func waitUntilConnected(timeout: Duration) async throws(ChatError) {
        let end = ContinuousClock.now + timeout
        while !isConnected {
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw state.withLock { $0.rejection }?.chatError
                    ?? ChatError(.file(.unreachable), "There is no connection to the SimpleX core.")
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}
