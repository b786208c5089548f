import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix
import SMP
import XFTP

/// The relays of a command's profile.
struct ProfileRelays: Sendable {
    private let directory: DataDirectory
    private let profile: Profile

    /// Reads `CommonOptions.profile` and `CommonOptions.directory`.
    init(_ invocation: Invocation) async throws {
        try await self.init(of: invocation[CommonOptions.profile], through: try DirectoryAccess(invocation))
    }

    init(of name: String?, through access: DirectoryAccess) async throws {
        (directory, profile) = try await ThreadPool.shared.run { () throws(any Error) in
            let directory = try access.open()
            return (directory, try directory.profile(named: name))
        }
    }

    init(of profile: Profile, in directory: DataDirectory) {
        self.profile = profile
        self.directory = directory
    }

    /// Returns message servers first, each kind in the order of addition.
    func list() async throws -> [AnyRelay] {
        try await blocking { () throws(ChatError) in
            try directory.messagingServers(of: profile).map(AnyRelay.messages)
                + directory.configuredRelays(of: profile).map(AnyRelay.files)
        }
    }

    /// Returns the relays with their passwords.
    func listWithPasswords() async throws -> [AnyRelay] {
        try await blocking { () throws(ChatError) in
            try directory.messagingServers(of: profile).map(AnyRelay.messages)
                + directory.configuredRelaysWithPasswords(of: profile).map(AnyRelay.files)
        }
    }

    /// Returns the proxy of the named profile or, if none is named, of any profile; nil for direct connections.
    static func proxy(of name: String?, through access: DirectoryAccess) async throws -> SOCKSProxy? {
        try await ThreadPool.shared.run { () throws(any Error) -> SOCKSProxy? in
            guard try access.isThere() else { return nil }
            let directory = try access.open()
            let profiles =
                name == nil ? try directory.profiles() : [try directory.profile(named: name)]
            for profile in profiles {
                guard let proxy = try directory.networkChoice(of: profile).proxy else { continue }
                return SOCKSProxy(proxy, isolation: SOCKSProxy.freshIsolation())
            }
            return nil
        }
    }

    func add(_ relays: [AnyRelay]) async throws {
        try await blocking { () throws(ChatError) in
            try directory.addMessagingServers(relays.compactMap(\.server), to: profile)
            try directory.addRelays(relays.compactMap(\.relay), to: profile)
        }
    }

    /// - Throws: An error for a relay that the profile does not use; the others are removed.
    func remove(_ relays: [AnyRelay]) async throws {
        let known = try await blocking { () throws(ChatError) in
            try directory.removeMessagingServers(relays.compactMap(\.server), from: profile)
                .map(AnyRelay.messages)
                + directory.removeRelays(relays.compactMap(\.relay), from: profile).map(AnyRelay.files)
        }
        guard let unknown = relays.first(where: { !known.contains($0) }) else { return }
        throw ChatError(
            .invalidCommand, "\(profile.displayName) does not use this relay: \(unknown.text)")
    }

    private func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws(ChatError) -> Result
    ) async throws -> Result {
        try await ThreadPool.shared.run(body)
    }
}

extension AnyRelay {
    fileprivate var server: ServerAddress? {
        if case .messages(let server) = self { server } else { nil }
    }

    fileprivate var relay: RelayAddress? {
        if case .files(let relay) = self { relay } else { nil }
    }
}
