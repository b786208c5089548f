import ChatCore
import Cryptography
import Desktop
import EmbeddedCore
import Links
import Network
import OfficialCore
import Posix
import SMP
import XFTP

/// Any core behind a mount or a command, with the folder of links on top and with functions that a mount needs beyond
/// `ChatCore`.
struct MountedCore: Sendable {
    let core: any ChatCore
    /// Absolute path of the profile's directory, for data beside the core.
    let folder: String
    /// Encryption key of all databases there; nil if not encrypted.
    let key: SecretBytes?
    /// Decides which files are received on arrival.
    let arrivals: ArrivalRule
    /// Fetches the chunks of claimed files.
    let client: XFTPClient
    /// Approves receiving files from relays. Blocks.
    let approve: @Sendable ([RelayAddress]) throws -> Void
    /// Approves messages to other people's servers in the local network. Blocks.
    var approveServers: @Sendable ([ServerAddress]) throws -> Void = { _ in
        throw ChatError(
            .invalidCommand, "The official core chooses its messaging servers itself.")
    }
    /// Deletes the copy of a file whose message stays (`EmbeddedCore.freeCopy`); nil if the core owns the copies.
    let free: (@Sendable (FileID, _ lastCopyToo: Bool) async throws(ChatError) -> Bool)?
    /// Tells the next process that the profile will be free soon.
    let announceEnd: @Sendable () -> Void
    /// Closes the connections to relays until `resume`, which also ends retry delays. Suspends a started official core.
    let suspend: @Sendable () async -> Void
    let resume: @Sendable () async -> Void
    let shutDown: @Sendable () async -> Void
    /// Returns the pending work on the network; nil for an official core.
    var waiting: (@Sendable () async throws(ChatError) -> NetworkWaiting)?

    static func open(_ settings: CoreSettings) async throws -> MountedCore {
        let access = settings.directory
        let directory = try await ThreadPool.shared.run { try access.open(isMade: true) }
        switch settings.core {
        case .embedded: return try await openEmbedded(settings, in: directory)
        case .official(let choice): return try await open(choice, settings, in: directory)
        }
    }

    private static func openEmbedded(
        _ settings: CoreSettings, in directory: DataDirectory
    ) async throws -> MountedCore {
        let arrivals = try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: settings.profile)
            return KeptArrivals.rule(in: try directory.folders(of: profile).own, key: directory.key)
        }
        let core = try await EmbeddedCore.open(
            directory, profile: settings.profile, mountpoint: settings.mountpoint,
            relays: settings.relays, arrivals: arrivals)
        if let policy = settings.relayPolicy {
            try await ThreadPool.shared.run { () throws(ChatError) in
                try directory.setRelayPolicy(policy, of: core.profile)
            }
        }
        let approve: @Sendable ([RelayAddress]) throws -> Void = {
            try directory.approveRelays($0, for: core.profile)
        }
        let links = LinkedCore(
            core, folder: core.folder, key: directory.key, client: core.client, approve: approve)
        return MountedCore(
            core: links, folder: core.folder, key: directory.key, arrivals: core.arrivals,
            client: core.client, approve: approve,
            approveServers: { try directory.approveServers($0, for: core.profile) },
            free: { (file, lastCopyToo) async throws(ChatError) in
                try await core.freeCopy(of: file, lastCopyToo: lastCopyToo)
            },
            announceEnd: { core.announceEnd() }, suspend: { core.suspend() }, resume: { core.resume() },
            shutDown: {
                await links.close()
                await core.shutDown(finishingWithin: .seconds(2))
                await noteParts(of: directory)
            },
            waiting: { () async throws(ChatError) in try await core.networkWaiting() })
    }

    private static func open(
        _ choice: OfficialCoreChoice, _ settings: CoreSettings, in directory: DataDirectory
    ) async throws -> MountedCore {
        let core = try await openOfficial(choice, settings, in: directory)
        let trust = core.trust
        var client = XFTPClientSettings(policy: OutboundPolicy(isChosen: trust.holds))
        client.proxy = settings.proxy
        let relays = XFTPClient(settings: client)
        let approve: @Sendable ([RelayAddress]) throws -> Void = { try trust.approve($0) }
        let links = LinkedCore(
            core, folder: core.folder, key: directory.key, client: relays, approve: approve)
        return MountedCore(
            core: links, folder: core.folder, key: directory.key, arrivals: core.arrivals, client: relays,
            approve: approve,
            free: nil,
            announceEnd: { core.announceEnd() },
            suspend: {
                relays.suspend()
                await core.suspend()
            },
            resume: {
                await core.resume()
                relays.resume()
            },
            shutDown: {
                await links.close()
                relays.close()
                await core.shutDown()
                // Keeps the directory locked until here.
                await noteParts(of: directory)
            })
    }

    /// The core itself, without links.
    static func openOfficial(
        _ choice: OfficialCoreChoice, _ settings: CoreSettings, in directory: DataDirectory
    ) async throws -> OfficialCore {
        var official = try await officialSettings(choice, settings, in: directory)
        let transport: any OfficialTransport
        if choice.isPhone {
            transport = try await MountedPhone(choice, settings).transport(&official)
        } else {
            transport = try await choice.transport(official)
        }
        do throws(ChatError) {
            return try await OfficialCore.open(transport, official)
        } catch {
            await transport.close()
            throw error
        }
    }

    /// Records the new databases, whose absence is an error from now on. If that fails, the next process does it.
    private static func noteParts(of directory: DataDirectory) async {
        try? await ThreadPool.shared.run { () throws(ChatError) in try directory.noteParts() }
    }

    private static func officialSettings(
        _ choice: OfficialCoreChoice, _ settings: CoreSettings, in directory: DataDirectory
    ) async throws -> OfficialCoreSettings {
        var official = try await ThreadPool.shared.run { () throws(any Error) in
            try choice.settings(dataPath: settings.dataPath)
        }
        let key = directory.key
        official.key = key
        official.arrivals = { KeptArrivals.rule(in: $0, key: key) }
        official.profileName = settings.profile
        official.mountpoint = settings.mountpoint
        official.comparesFirst = settings.mountpoint == nil
        official.hasProxy = settings.proxy != nil
        official.marksRead = settings.marksRead
        official.unknownRelays = settings.relayPolicy
        if settings.asksForName {
            official.askName = { await ThreadPool.shared.run { Question.line("Name of the new profile: ") } }
        }
        return official
    }
}

extension MountedCore {
    /// Keeps files that cannot be freed and ignores vanished ones.
    /// - Returns: The files whose copies were deleted.
    func answer(_ request: FreeRequest) async throws(ChatError) -> [Int64] {
        guard let free else {
            throw ChatError(.storage, "An official core owns its files: delete them with its app.")
        }
        var freed: [Int64] = []
        for file in request.files.prefix(FreeRequest.maxFiles) {
            do throws(ChatError) {
                if try await free(FileID(file), request.lastCopies) { freed.append(file) }
            } catch {
                guard error.code == .noSuchFile else {
                    throw ChatError(.storage, error.sentence, cause: error)
                }
            }
        }
        return freed
    }
}
