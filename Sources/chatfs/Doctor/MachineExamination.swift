import Base
import ChatCore
import EmbeddedCore
import FileSystem
import Glibc
import Media
import Network
import Posix
import XFTP

/// What every mount needs of the machine.
enum MachineExamination {
    /// Blocks for a moment.
    static func findings() -> [Finding] { [device(), helper(), mountTable()].compactMap(\.self) }

    private static func device() -> Finding {
        if access("/dev/fuse", R_OK | W_OK) == 0 { return .good("/dev/fuse can be used") }
        return errno == ENOENT
            ? .bad("there is no /dev/fuse: load the fuse module, or give the container the device")
            : .bad("/dev/fuse cannot be opened by this user")
    }

    private static func helper() -> Finding {
        if ProgramSearch.path(of: "fusermount3") != nil { return .good("fusermount3 is there") }
        return geteuid() == 0
            ? .note("fusermount3 is not there; root can do without it")
            : .bad("fusermount3 is not in PATH: install the package fuse3")
    }

    /// fusermount3 takes nothing away without this link. Small containers and chroots have none.
    static func mountTable(at path: String = "/etc/mtab") -> Finding? {
        if access(path, F_OK) == 0 { return nil }
        let advice = "ln -s /proc/self/mounts \(path)"
        return geteuid() == 0
            ? .note("there is no \(path), so only root can unmount: \(advice)")
            : .bad("there is no \(path), which fusermount3 needs to unmount; as root: \(advice)")
    }

    /// What makes previews of pictures and videos that are sent.
    static func previews() async -> [Finding] {
        let equipment = await PreviewMaker().equipment()
        var findings: [Finding] = []
        if !equipment.decodesPictures {
            findings.append(
                .note("pictures are sent with a grey preview: install the package libgdk-pixbuf-2.0-0"))
        } else if !equipment.decodesWebP {
            findings.append(
                .note("WebP pictures are sent with a grey preview: install the package webp-pixbuf-loader"))
        } else {
            findings.append(.good("pictures are sent with a preview"))
        }
        findings.append(
            equipment.decodesVideos && equipment.decodesPictures
                ? .good("videos are sent with a preview")
                : .note("videos are sent with a grey preview: install the package ffmpeg"))
        findings.append(
            MetadataRemover() != nil
                ? .good("metadata can be removed from pictures that are sent (--strip-metadata images)")
                : .note(
                    "metadata of pictures cannot be removed (--strip-metadata images): install the package "
                        + MetadataRemover.package))
        return findings
    }

    /// The data directory of the core that ChatFS brings along, and its relays. Blocks.
    /// - Returns: `proxies`: where a profile goes through one, no relay of it is asked past that.
    static func embedded(
        _ access: DirectoryAccess
    ) -> (findings: [Finding], relays: [RelayAddress], proxies: [RelayAddress: SOCKSProxy]) {
        do {
            try DataDirectory.requireParts(access.path)
            guard try access.folder.condition != .new else {
                return (
                    [.note("there is no data directory yet: chatfs profile create NAME makes it")], [], [:]
                )
            }
            let directory = try access.open()
            let profiles = try directory.profiles()
            var relays: [RelayAddress] = []
            var proxies: [RelayAddress: SOCKSProxy] = [:]
            for profile in profiles {
                let own = try directory.configuredRelays(of: profile)
                relays += own
                guard let proxy = try directory.networkChoice(of: profile).proxy else { continue }
                for relay in own { proxies[relay] = SOCKSProxy(proxy) }
            }
            let count: Finding =
                profiles.isEmpty
                ? .note("the data directory has no profile: chatfs profile create NAME makes one")
                : .good("profiles: \(profiles.map(\.displayName).joined(separator: ", "))")
            return ([room(at: directory.path), count].compactMap(\.self), relays, proxies)
        } catch {
            return ([.bad("the data directory cannot be used: \(sentence(of: error))")], [], [:])
        }
    }

    /// A full disk; nil where there is room. Blocks.
    static func room(at path: String) -> Finding? {
        MountStatus.FullDisk(of: path).map {
            .bad(
                "the disk of the data directory \(path) is full (\(ByteCount.rounded($0.free)) free): free some space, "
                    + "nothing can be received, written or sent until then")
        }
    }

    /// Whether relays answer, all at once.
    /// - Parameters:
    ///   - proxy: for all; nil: for each that of `proxies`, or none.
    static func relays(
        _ relays: [RelayAddress], through proxy: SOCKSProxy?, else proxies: [RelayAddress: SOCKSProxy] = [:]
    ) async -> [Finding] {
        guard !relays.isEmpty else {
            return [.note("no relay is configured: files above 255 KiB cannot be sent")]
        }
        return await withTaskGroup(of: (Int, Finding).self) { group in
            let chosen = relays.reduce(into: [RelayAddress]()) { if !$0.contains($1) { $0.append($1) } }
            for (number, relay) in chosen.enumerated() {
                let way = proxy ?? proxies[relay]
                group.addTask { (number, await answer(of: relay, through: way)) }
            }
            var findings: [(Int, Finding)] = []
            for await finding in group { findings.append(finding) }
            return findings.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func answer(of relay: RelayAddress, through proxy: SOCKSProxy?) async -> Finding {
        var settings = XFTPClientSettings(policy: .everything)
        settings.connectDeadline = .seconds(10)
        settings.retry.tries = 1
        settings.proxy = proxy
        let client = XFTPClient(settings: settings)
        defer { client.close() }
        do throws(XFTPError) {
            try await client.ping(relay)
            return .good("the relay \(relay.hosts[0]):\(relay.port) answers")
        } catch {
            return .failed("relay \(relay.hosts[0]):\(relay.port): \(Finding.reason(of: error))")
        }
    }
}
