import Base
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Posix

/// The common part of commands that use a mount's program socket.
enum ProgramConnection {
    static let states = Option.list(
        "state", named: "STATE", .choice(EntryState.self), "Only files in this state.")

    static let json = Option.flag("json", "For programs: one JSON object per line.")

    /// A mount and a path on it.
    struct Place: Sendable {
        var mounted: Mounted
        /// Folder and optional name below the mountpoint; empty for the whole mount.
        var path: String

        /// - Parameters:
        ///   - path: A path on a mount or below the chosen one; nil for the whole mount.
        ///   - mount: The value of `--mount`.
        init(_ path: String?, mount: String? = nil) async throws {
            guard let path else {
                mounted = try await Mounted.chosen(mount)
                self.path = ""
                return
            }
            let found = try await ThreadPool.shared.run { () throws(any Error) in
                let absolute = try Mountpoint.absolutePath(of: path)
                let over = try Mounted.all().filter { absolute.path(below: $0.mountpoint) != nil }
                let found = over.max { $0.mountpoint.utf8.count < $1.mountpoint.utf8.count }
                return found.map { ($0, absolute.path(below: $0.mountpoint) ?? "") }
            }
            if let found, mount == nil {
                (mounted, self.path) = found
                return
            }
            var status = stat()
            let isElsewhere = path.isAbsolutePath || mount == nil && lstat(path, &status) == 0
            guard !isElsewhere else {
                throw PathError(path, MountedEntry.notMounted(path))
            }
            mounted = try await Mounted.chosen(mount)
            self.path = path.pathNames.joined(separator: "/")
        }
    }

    /// Connects to the daemon of a mount. Waits at most five seconds for its status.
    static func client(of mounted: Mounted) async throws -> ControlClient {
        let answer = await mounted.answer()
        if case .unasked(let error) = answer { throw error }
        guard case .status(let bytes) = answer, let status = MountStatus.decoded(bytes),
            let socket = status.programSocket
        else {
            throw DesktopError(
                .noAnswer,
                "The mount at \(mounted.mountpoint) does not answer: 'chatfs status' shows details.")
        }
        return try await ThreadPool.shared.run { try ControlClient(path: socket) }
    }

    /// Encodes a line of JSON.
    static func json(_ value: some Encodable) throws -> String { try JSONLine.encoded(value) }

    /// Formats state, size, time and path for display, after the digest if there is one.
    static func line(_ item: ProgramItem, isHashing: Bool = false) -> String {
        let state =
            ["sending", "receiving"].contains(item.state) ? "\(item.state) \(item.progress)%" : item.state
        let fields = [
            state.padded(to: 14), ByteCount.rounded(item.size).padded(to: 9),
            Timestamp(seconds: item.modified).text, item.path,
        ]
        let hash = isHashing ? [item.sha256 ?? String(repeating: "-", count: 64)] : []
        return PrintableText.escaping((hash + fields).joined(separator: "  "))
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
