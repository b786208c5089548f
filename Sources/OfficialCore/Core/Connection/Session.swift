import Base
import ChatCore

/// The first commands to a core.
enum Session {
    /// Waits for the connection and returns the events before it.
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

    /// Returns the requested profile. Sends queries only, because the database may be another one. If the
    /// core has no profile at all, creates the first one.
    static func find(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(ChatError) -> FoundProfile {
        do throws(OfficialCoreError) {
            return try await user(transport, settings)
        } catch {
            throw error.chatError
        }
    }

    /// Sets up a core that ChatFS runs, selects the profile and starts the chats. A program has already
    /// started them, for its active profile.
    static func start(
        _ found: FoundProfile, _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(OfficialCoreError) {
        try await setUp(transport, settings)
        if !found.isActive { _ = try await user(of: transport.request(.setActiveUser(found.profile.id))) }
        if settings.ownership == .library { _ = try await transport.request(.start) }
    }

    /// A profile of the core, which may still have to be activated.
    struct FoundProfile: Hashable, Sendable {
        var profile: Profile
        var isActive: Bool
    }

    /// Sets folders and encryption, which the core forgets at each restart. A core started by another program
    /// keeps its own.
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
    ) async throws(OfficialCoreError) -> FoundProfile {
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
            let made = try await user(of: transport.request(.createUser(displayName: name)))
            return FoundProfile(profile: made.profile, isActive: true)
        }
        guard let name = settings.profileName, name != active.displayName else {
            return FoundProfile(profile: active.profile, isActive: true)
        }
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
                    + "switch there, or omit --profile.")
        }
        return FoundProfile(profile: wanted.profile, isActive: false)
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
