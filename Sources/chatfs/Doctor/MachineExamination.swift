import Base
import ChatCore
import EmbeddedCore
import FileSystem
import Glibc
import Media
import Network
import Posix
import XFTP

/// Examines the requirements of every mount: FUSE, previews, the data directory.
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
        if ProgramSearch.path(of: "fusermount3") != nil { return .good("fusermount3 is installed") }
        return geteuid() == 0
            ? .note("fusermount3 is not installed; root does not need it")
            : .bad("fusermount3 is not in PATH: install the package fuse3")
    }

    /// Without this link fusermount3 cannot unmount. Small containers and chroots lack it.
    static func mountTable(at path: String = "/etc/mtab") -> Finding? {
        if access(path, F_OK) == 0 { return nil }
        let advice = "ln -s /proc/self/mounts \(path)"
        return geteuid() == 0
            ? .note("there is no \(path), so only root can unmount: \(advice)")
            : .bad("there is no \(path), which fusermount3 needs to unmount; as root: \(advice)")
    }

    /// Examines the programs that make previews of outgoing pictures and videos.
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
                ? .good("metadata can be removed from outgoing pictures (--strip-metadata images)")
                : .note(
                    "metadata of pictures cannot be removed (--strip-metadata images): install the package "
                        + MetadataRemover.package))
        return findings
    }

    /// Examines the data directory of the embedded core, and returns its servers. Blocks.
    static func embedded(_ access: DirectoryAccess) -> (findings: [Finding], servers: ServerExamination) {
        var servers = ServerExamination()
        do {
            try DataDirectory.requireParts(access.path)
            guard try access.folder.condition != .new else {
                return (
                    [.note("there is no data directory yet: 'chatfs profile create NAME' creates it")],
                    servers
                )
            }
            let directory = try access.open()
            let profiles = try directory.profiles()
            for profile in profiles {
                let proxy = try directory.networkChoice(of: profile).proxy.map { SOCKSProxy($0) }
                for relay in try directory.configuredRelays(of: profile) { servers.add(.files(relay), proxy) }
                for server in try directory.messagingServers(of: profile) {
                    servers.add(.messages(server), proxy)
                }
            }
            let count: Finding =
                profiles.isEmpty
                ? .note("the data directory has no profile: 'chatfs profile create NAME' creates one")
                : .good(
                    "profiles: \(profiles.map(\.displayName).joined(separator: ", "))",
                    naming: profiles.map(\.displayName))
            return ([room(at: directory.path), count].compactMap(\.self), servers)
        } catch {
            return (
                [.bad("the data directory cannot be used: \(sentence(of: error))", naming: [access.path])],
                servers
            )
        }
    }

    /// Free bytes below which large files may not fit.
    private static let littleRoom: UInt64 = 1 << 30

    /// Reports a full disk or little free space; nil if there is enough or the space is unknown. Blocks.
    static func room(at path: String) -> Finding? {
        if let disk = MountStatus.FullDisk(of: path) {
            return .bad(
                "the disk of the data directory \(path) is full (\(ByteCount.rounded(disk.free)) free): receiving, "
                    + "writing and sending fail until you free some space", naming: [path])
        }
        guard let free = try? OpenFile(path, flags: O_RDONLY).availableBytes(), free < littleRoom else {
            return nil
        }
        return .note(
            "the disk of the data directory \(path) has \(ByteCount.rounded(free)) left: 'chatfs storage free' removes "
                + "copies that can be received again", naming: [path])
    }
}
