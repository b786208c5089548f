import Base
import ChatCore

/// The first commands to a core.
enum Session {
    /// Waits for the connection; events that came before it are answered.
    static func firstConnection(
        _ events: inout AsyncStream<TransportEvent>.Iterator, timeout: Duration
    ) async throws(ChatError) -> [APIEvent] {
        var early: [APIEvent] = []
        var reason = "The SimpleX core did not answer."
        let end = ContinuousClock.now + timeout
        while ContinuousClock.now < end, let event = await events.next(isolation: nil) {
            switch event {
            case .connected: return early
            case .event(let event): early.append(event)
            case .disconnected(let sentence): reason = sentence
            }
        }
        throw ChatError(.file(.unreachable), reason)
    }

    /// Makes the settings of a core of our own, opens the profile and starts chatting.
    static func begin(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(ChatError) -> Profile {
        do throws(OfficialCoreError) {
            try await setUp(transport, settings)
            let user = try await user(transport, settings)
            if settings.ownership == .library { _ = try await transport.request(.start) }
            return user.profile
        } catch {
            throw error.chatError
        }
    }

    /// Folders and encryption hold for one run of the core: again after each restart. A core that somebody
    /// else started keeps its own.
    static func setUp(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(OfficialCoreError) {
        guard settings.ownership != .attached else { return }
        _ = try await transport.request(.filesFolder(settings.filesFolder))
        _ = try await transport.request(.temporaryFolder(settings.temporaryFolder))
        _ = try await transport.request(.encryptFiles(true))
    }

    private static func user(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(OfficialCoreError) -> APIUser {
        let active = try await activeUser(transport)
        guard let active else {
            var name = settings.profileName
            if name == nil, let ask = settings.askName { name = await ask() }
            guard let name, !name.isEmpty else {
                throw OfficialCoreError(
                    .noProfile,
                    "The SimpleX database has no profile yet: give the first one a name with "
                        + "--profile.")
            }
            return try await user(of: transport.request(.createUser(displayName: name)))
        }
        guard let name = settings.profileName, name != active.displayName else { return active }
        guard case .usersList(let users) = try await transport.request(.users),
            let wanted = users.first(where: { $0.displayName == name })
        else {
            throw OfficialCoreError(
                .noProfile,
                "The SimpleX database has no profile of this name; the active one is "
                    + "\(active.displayName).")
        }
        guard settings.ownership != .attached else {
            throw OfficialCoreError(
                .noProfile,
                "Another profile is active in the running program, \(active.displayName): "
                    + "switch there, or leave --profile out.")
        }
        return try await user(of: transport.request(.setActiveUser(wanted.id)))
    }

    private static func activeUser(
        _ transport: any OfficialTransport
    ) async throws(OfficialCoreError) -> APIUser? {
        do throws(OfficialCoreError) {
            return try user(of: try await transport.request(.user))
        } catch {
            if error.refusal?.has("noActiveUser") == true { return nil }
            throw error
        }
    }

    private static func user(of response: APIResponse) throws(OfficialCoreError) -> APIUser {
        guard case .activeUser(let user) = response else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core did not name its profile.")
        }
        return user
    }
}
