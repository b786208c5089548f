import Base
import FileSystem
import Glibc
import Media
import Namespace
import Posix
import Thumbnails

/// The desktop's leftovers of a mount: thumbnails and failure marks. They are removed at unmount or, failing that, at
/// the profile's next mount.
struct DesktopTraces: Sendable {
    let desktop: DesktopThumbnails
    private let names: Namespace
    private let mountpoint: String
    private let beginning = SystemWallClock().now().seconds

    /// Maximum wait at unmount.
    private static let timeout: Duration = .seconds(20)

    /// Returns nil, with a log line, if the thumbnail cache is unusable. Blocks; called before the mount.
    static func open(_ names: Namespace, mountpoint: String) -> DesktopTraces? {
        guard let path = path(), path.path(below: mountpoint) == nil else { return nil }
        do throws(SystemError) {
            return DesktopTraces(
                desktop: DesktopThumbnails(try ThumbnailFolder(path: path, mountpoint: mountpoint)),
                names: names, mountpoint: mountpoint)
        } catch {
            Log("mount").notice("desktop previews off: error=\(error.sentence)")
            return nil
        }
    }

    /// XDG Base Directory Specification: relative values are ignored.
    private static func path() -> String? {
        if let cache = getenv("XDG_CACHE_HOME").map({ String(cString: $0) }), cache.isAbsolutePath {
            return cache + "/thumbnails"
        }
        guard let home = getenv("HOME").map({ String(cString: $0) }), home.isAbsolutePath else { return nil }
        return home + "/.cache/thumbnails"
    }

    /// Removes leftovers of earlier mounts before new thumbnails are offered. Does not wait.
    func beginSweeping() {
        desktop.sweep { offered in
            var traces: [ThumbnailFolder.Traces] = []
            let earlier = try names.mountpoints()
            if !earlier.contains(where: { $0.path.hasSameBytes(as: mountpoint) }) {
                // Another profile or an old version was mounted here, so every thumbnail of this path is
                // ours.
                traces.append(.init(mountpoint: mountpoint, since: nil, isLookedForByName: true))
                try note(isSwept: false)
            }
            for place in earlier where place.path.hasSameBytes(as: mountpoint) || !Self.isInUse(place.path) {
                traces.append(
                    .init(
                        mountpoint: place.path, since: place.since, isLookedForByName: !place.isSwept))
            }
            // Killed mounts of other profiles.
            let known = Set(earlier.map(\.path) + [mountpoint])
            for place in offered where !known.contains(place) && !Self.isInUse(place) {
                traces.append(.init(mountpoint: place, since: nil, isLookedForByName: false))
            }
            return traces
        } paths: { body in
            eachPath(body)
        } done: {
            try note(isSwept: false)
        }
    }

    /// Removes this mount's leftovers after the unmount.
    func sweep() async {
        desktop.stopOffering()
        desktop.sweep { _ in
            [.init(mountpoint: mountpoint, since: beginning, isLookedForByName: true)]
        } paths: { body in
            eachPath(body)
        } done: {
            try note(isSwept: true)
        }
        let sweeping = Task { await desktop.finish() }
        if await sweeping.result(within: Self.timeout) == nil {
            Log("mount").warning("desktop thumbnails left for the next mount: reason=timeout")
        }
    }

    private func eachPath(_ body: (_ path: [UInt8]) -> Void) {
        do throws(NamespaceError) {
            try names.eachPath { body($0.bytes) }
        } catch {
            Log("mount").warning("names of files unreadable: error=\(error.sentence)")
        }
    }

    /// Records that older leftovers than `since` are removed.
    private func note(isSwept: Bool) throws(NamespaceError) {
        let since = isSwept ? SystemWallClock().now().seconds : beginning
        try names.note(.init(path: mountpoint, since: since, isSwept: isSwept))
    }

    /// Returns true if another process's live mount is there, which cleans up after itself. An unreadable mount table
    /// counts as no mount, because only our files' leftovers are removed.
    private static func isInUse(_ path: String) -> Bool {
        guard (try? MountTable.mount(at: path)) != nil else { return false }
        return access(path, F_OK) == 0 || errno != ENOTCONN
    }
}

extension ThumbnailMaker: ThumbnailMaking {}
