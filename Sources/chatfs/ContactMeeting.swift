import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Posix
import SMP

/// The common part of `chatfs pair` and `chatfs accept`: a profile, its servers, and the wait for the peer.
struct ContactMeeting: Sendable {
    private let access: ProfileAccess
    /// The warning to print before a link whose server is reachable on this machine only.
    let warning: String?

    private static let server = Option.list(
        "server", named: "ADDR", .text,
        "A messaging server for incoming messages: smp://fingerprint@host:port. Stored in the profile.")
    private static let profile = Option(
        "profile", named: "NAME", .listed("profiles"),
        "The profile; not needed if there is only one. If there is none, the command creates this profile, and the data "
            + "directory, and keeps them even if it fails later.")
    static let options: [any OptionDeclaration] =
        [server, CommonOptions.relay, CommonOptions.alsoPreset, CommonOptions.noEncryption, profile]
        + CommonOptions.access.filter { $0.name != profile.name }

    /// Creates the first profile if necessary and stores the command's settings in it.
    init(_ invocation: Invocation) async throws {
        access = try ProfileAccess(invocation)
        guard access.settings.core.isEmbedded else {
            warning = nil
            return
        }
        let servers = try invocation[Self.server].map { text throws(UsageError) in
            guard let server = ServerAddress(text) else {
                throw UsageError("a messaging server's address looks like smp://fingerprint@host:port")
            }
            return server
        }
        let relays = try invocation.relays()
        let unlocked = access.settings.directory
        let directory = try await ThreadPool.shared.run { try unlocked.open(isMade: true) }
        let name = invocation[Self.profile]
        let (profile, isReachable) = try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try Self.profile(name, in: directory)
            try directory.addMessagingServers(servers, to: profile)
            try directory.addRelays(relays, to: profile)
            return (profile, try !directory.messagingServers(of: profile).isEmpty)
        }
        try await invocation.replacePresets(
            by: servers.map(AnyRelay.messages) + relays.map(AnyRelay.files), of: profile, in: directory)
        if !isReachable { try await Self.offerServers(to: profile, in: directory) }
        warning = try await ThreadPool.shared.run { () throws(ChatError) in
            RelayReach.warning(servers: try directory.messagingServers(of: profile))
        }
    }

    /// Offers the official apps' servers to a new profile without servers.
    private static func offerServers(to profile: Profile, in directory: DataDirectory) async throws {
        guard Question.canBeAsked else { return }
        Terminal.complain(
            "This profile has no messaging server yet. 'chatfs relay add' adds one of your own,")
        Terminal.complain("or the profile can use the preset servers of the SimpleX apps.")
        guard await OperatorConditions.areAccepted(of: [.simplex]) else { return }
        try await ProfileRelays(of: profile, in: directory).add(RelayOperator.simplex.relays)
    }

    private static func profile(
        _ name: String?, in directory: DataDirectory
    ) throws(ChatError) -> Profile {
        guard try directory.profiles().isEmpty else { return try directory.profile(named: name) }
        guard let name else {
            throw ChatError(
                .noSuchProfile, "There is no profile yet: give a display name with --profile.")
        }
        return try directory.createProfile(name)
    }

    /// Sends a request that needs no wait to the process that has the profile.
    func ask(_ request: ContactRequest) async throws -> ContactAnswer { try await access.ask(request) }

    /// Sends the first request, reports its reply, and waits until the peer connects.
    /// - Returns: The reply with the chat's name.
    func meet(
        _ first: ContactRequest, told: @escaping @Sendable (ContactAnswer) async throws -> Void
    ) async throws -> ContactAnswer {
        try await access.use { daemon in
            try await Self.meet(first, told: told) { request in
                try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.ask(request) }
            }
        } opened: { opened in
            try await Self.meet(first, told: told) {
                try await $0.carryOut(on: opened.core, naming: opened.folders)
            }
        }
    }

    private static func meet(
        _ first: ContactRequest, told: @Sendable (ContactAnswer) async throws -> Void,
        ask: @Sendable (ContactRequest) async throws -> ContactAnswer
    ) async throws -> ContactAnswer {
        let begun = try await ask(first)
        try await told(begun)
        while true {
            let asked = ContinuousClock.now
            let found = try await ask(.look(begun.connection ?? 0))
            if found.name != nil { return found }
            try Task.checkCancellation()
            // The daemon waits before it replies; if it does not, pause here.
            if asked.duration(to: .now) < .seconds(1) { try await Task.sleep(for: .milliseconds(500)) }
        }
    }

    /// Reports the new contact and its folder.
    static func tell(_ met: ContactAnswer) {
        let name = PrintableText.escaping(met.name ?? "")
        let isGroup = met.chat.flatMap(ChatReference.init).map { if case .group = $0 { true } else { false } }
        Terminal.print(isGroup == true ? "Joined the group \(name)." : "\(name) is connected.")
        if let folder = met.folder {
            Terminal.note("Exchange files in \(PrintableText.escaping(folder)).")
        } else {
            Terminal.note("Exchange files in ~/Chats/\(name). Next: chatfs mount ~/Chats")
        }
    }
}

extension ProfileAccess {
    /// Sends a request to the daemon of the mount, or carries it out with a core of its own.
    func ask(_ request: ContactRequest) async throws -> ContactAnswer {
        try await use { daemon in
            try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.ask(request) }
        } opened: { opened in
            try await request.carryOut(on: opened.core, naming: opened.folders)
        }
    }
}
