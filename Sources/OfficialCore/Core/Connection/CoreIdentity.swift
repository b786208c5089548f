import Base
import ChatCore

/// Verifies that the core has the profile of the index. Another database may answer at the same address, or
/// be at the same path, with the same numbers of profiles, contacts and messages.
///
/// A profile is identified by its creation time in nanoseconds, because that is kept through renames,
/// archives, updates and changes of the passphrase. A core that does not support queries counts as the same;
/// a core that does not answer in time is unidentified.
final class CoreIdentity: Sendable {
    private let transport: any OfficialTransport
    private let index: IndexStore
    private let profile: Profile
    /// True for a phone: its user may switch profiles there, and its database is identified by the
    /// certificate.
    private let isPhone: Bool
    private let timeout: Duration
    private let known = Lock<String?>(nil)

    init(
        _ transport: any OfficialTransport, _ index: IndexStore, of profile: Profile, isPhone: Bool = false,
        timeout: Duration
    ) {
        (self.transport, self.index, self.profile, self.timeout) = (transport, index, profile, timeout)
        self.isPhone = isPhone
    }

    /// - Throws: `.otherDatabase`; `.unidentified`; connection errors.
    func check(_ lane: TransportLane, _ connection: UInt64) async throws(OfficialCoreError) {
        if isPhone { return try await checkProfile(lane, connection) }
        guard let present = try await present(lane, connection) else { return }
        let expected: String
        if let known = known.withLock({ $0 }) {
            expected = known
        } else {
            expected = try await kept(present)
            known.withLock { $0 = expected }
        }
        guard present == expected else { throw Self.another }
    }

    private static let another = OfficialCoreError(
        .otherDatabase,
        "A different SimpleX database answers there, or its profile was created again: "
            + "use another --data, or restore the former database.")

    private func checkProfile(
        _ lane: TransportLane, _ connection: UInt64
    ) async throws(OfficialCoreError) {
        let answer: APIResponse
        do throws(OfficialCoreError) {
            answer = try await transport.request(.user, lane: lane, timeout: timeout, connection: connection)
        } catch {
            let hasNone = error.refusal?.has("noActiveUser") == true
            throw hasNone ? OfficialCoreError.otherProfile(than: profile) : Self.whenBusy(error)
        }
        guard case .activeUser(let active) = answer, active.id == profile.id else {
            throw OfficialCoreError.otherProfile(than: profile)
        }
    }

    /// Returns `.unidentified` for a connected phone that does not answer in time or refuses to.
    private static func whenBusy(_ error: OfficialCoreError) -> OfficialCoreError {
        // A command was not sent because the phone did not answer an earlier one in time (`PhoneLane`).
        let isUnsent = (error.cause as? OfficialCoreError)?.code == .timeout
        guard error.code == .timeout || isUnsent || error.refusal != nil else { return error }
        return OfficialCoreError(
            .unidentified, "The phone did not name its profile in time; ChatFS asks again.", cause: error)
    }

    /// Returns nil if the core does not support queries.
    private func present(_ lane: TransportLane, _ connection: UInt64) async throws(OfficialCoreError)
        -> String?
    {
        do throws(OfficialCoreError) {
            let answer = try await transport.request(
                .query("SELECT created_at FROM users WHERE user_id = \(profile.id)"), lane: lane,
                timeout: timeout, connection: connection)
            guard case .rows(let rows) = answer else { return nil }
            // The first line is the header, so the core has no user with this number.
            guard rows.count == 2, !rows[1].isEmpty else { throw Self.another }
            return rows[1]
        } catch {
            switch error.code {
            case .refused, .notUnderstood: return nil
            case .timeout:
                throw OfficialCoreError(
                    .unidentified,
                    "The SimpleX core did not identify its database in time; ChatFS sends it no other command "
                        + "until it does.", cause: error)
            default: throw error
            }
        }
    }

    /// Returns the stored identity, or stores `present` as the first one.
    private func kept(_ present: String) async throws(OfficialCoreError) -> String {
        do throws(ChatError) {
            return try await blocking.run { [index] in
                if let known = try index.read({ try $0.identity.known() }) { return known }
                try index.commit(durably: true) { try $0.tables.identity.note(present) }
                return present
            }
        } catch {
            throw OfficialCoreError(.system, error.sentence, cause: error)
        }
    }
}
